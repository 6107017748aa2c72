package record_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

// Account is a record: its exported fields are stored.
type Account struct {
	ID      int64   `record:"id"`
	Email   string  `record:"email"`
	City    string  `record:"city"`
	Balance float64 `record:"balance"`
}

// Accounts are put, found by id and by two indexes, changed in a transaction, and added up.
func Example() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:accounts") // a program that keeps its data says "bbolt:app.db"
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	accounts, err := record.Open[Account](ctx, db, &record.Options{Indexes: []record.Index{
		{Name: "email", Fields: []string{"email"}, Unique: true},
		{Name: "city", Fields: []string{"city", "balance"}},
	}})
	if err != nil {
		log.Fatal(err)
	}

	err = accounts.PutAll(ctx, kv.Buffered, []Account{
		{1, "ada@example.com", "London", 120}, {2, "kurt@example.com", "Vienna", 80},
		{3, "alan@example.com", "London", 40},
	})
	fmt.Println("put:", err)
	err = accounts.Put(ctx, kv.Buffered, &Account{ID: 4, Email: "ada@example.com"})
	fmt.Println("a second ada:", errors.Is(err, kv.Conflict))

	// One transaction over two records, touching one field of each.
	balance, err := record.FieldOf[float64](accounts, "balance")
	if err != nil {
		log.Fatal(err)
	}
	err = accounts.Update(ctx, kv.Buffered, func(w *record.Writer[Account]) error {
		from, err := balance.Read(&w.Reader, record.Int(1))
		if err != nil {
			return err
		}
		to, err := balance.Read(&w.Reader, record.Int(3))
		if err != nil {
			return err
		}
		return errors.Join(balance.Write(w, record.Int(1), from-100), balance.Write(w, record.Int(3), to+100))
	})
	fmt.Println("moved:", err)

	for account, err := range accounts.Query(ctx, record.Query{Index: "city", Equal: []any{"London"}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(account)
	}
	total, err := record.Sum(ctx, balance, record.Span{})
	fmt.Println("total:", total.Float, err)
	// Output:
	// put: <nil>
	// a second ada: true
	// moved: <nil>
	// {1 ada@example.com London 20}
	// {3 alan@example.com London 140}
	// total: 240 <nil>
}

// A field is added to the type. What is stored stays as it is, and old records have the default.
func ExampleOptions_evolve() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:evolve")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	type City struct {
		Name string `record:"name,id"`
	}
	before, err := record.Open[City](ctx, db, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := before.Put(ctx, kv.Buffered, &City{"Vienna"}); err != nil {
		log.Fatal(err)
	}

	type LargerCity struct {
		Name    string `record:"name,id"`
		Country string `record:"country"`
	}
	_, err = record.Open[LargerCity](ctx, db, nil)
	fmt.Println(err)
	after, err := record.Open[LargerCity](ctx, db, &record.Options{Evolve: record.Extend,
		Default: &LargerCity{Country: "unknown"}})
	if err != nil {
		log.Fatal(err)
	}
	vienna, err := after.Get(ctx, record.Text("Vienna"))
	fmt.Println(vienna, err)
	// Output:
	// open collection: conflict: the type has the new field country
	// {Vienna unknown} <nil>
}

// Two collections of one store, changed by one transaction.
func ExampleCollection_In() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:in")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	type Order struct{ ID, Account int64 }
	orders, err := record.Open[Order](ctx, db, &record.Options{Name: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	accounts, err := record.Open[Account](ctx, db, &record.Options{Name: "accounts"})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
		a, err := accounts.In(tx)
		if err != nil {
			return err
		}
		o, err := orders.In(tx)
		if err != nil {
			return err
		}
		return errors.Join(a.Put(&Account{ID: 7, Email: "ada@example.com"}), o.Put(&Order{ID: 1, Account: 7}))
	})
	order, getErr := orders.Get(ctx, record.Int(1))
	fmt.Println(order, err, getErr)
	// Output:
	// {1 7} <nil> <nil>
}

// A record without an id is given one, one that is there is not overwritten, and one that is not
// there is not made.
func ExampleCollection_Insert() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:insert")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	accounts, err := record.Open[Account](ctx, db, nil)
	if err != nil {
		log.Fatal(err)
	}
	ada := Account{Email: "ada@example.com"}
	err = accounts.Insert(ctx, kv.Buffered, &ada)
	fmt.Println("ada is", ada.ID, err)
	err = accounts.Insert(ctx, kv.Buffered, &Account{ID: 1, Email: "kurt@example.com"})
	fmt.Println("a second 1:", errors.Is(err, kv.Conflict))
	err = accounts.Replace(ctx, kv.Buffered, &Account{ID: 2, Email: "kurt@example.com"})
	fmt.Println("in the place of nobody:", errors.Is(err, kv.NotFound))
	err = accounts.Put(ctx, kv.Buffered, &Account{Email: "forgotten"})
	fmt.Println("without an id:", errors.Is(err, kv.Invalid))
	// Output:
	// ada is 1 <nil>
	// a second 1: true
	// in the place of nobody: true
	// without an id: true
}

// Records are counted and deleted by what a query says of them: an index first, then conditions of
// any field.
func ExampleCollection_DeleteWhere() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:where")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	accounts, err := record.Open[Account](ctx, db, &record.Options{Indexes: []record.Index{{Name: "city",
		Fields: []string{"city"}}}})
	if err != nil {
		log.Fatal(err)
	}
	err = accounts.PutAll(ctx, kv.Buffered, []Account{
		{1, "ada@example.com", "London", 0}, {2, "kurt@example.com", "Vienna", 0},
		{3, "alan@example.com", "London", 40},
	})
	if err != nil {
		log.Fatal(err)
	}
	empty := record.Query{Index: "city", Equal: []any{"London"},
		Where: []record.Condition{{Field: "balance", Equal: 0.0}}}
	n, err := accounts.DeleteWhere(ctx, kv.Buffered, empty)
	fmt.Println("deleted:", n, err)
	n, err = accounts.Count(ctx, record.Query{})
	fmt.Println("left:", n, err)
	// Output:
	// deleted: 1 <nil>
	// left: 2 <nil>
}

// A field that changes often lies apart from the record: to change it writes a few bytes, and
// reading puts it together.
func ExampleFieldOf_hot() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:hot")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	type Article struct {
		ID    int64  `record:"id"`
		Text  string `record:"text"`
		Views int64  `record:"views,hot"`
	}
	articles, err := record.Open[Article](ctx, db, nil)
	if err != nil {
		log.Fatal(err)
	}
	views, err := record.FieldOf[int64](articles, "views")
	if err != nil {
		log.Fatal(err)
	}
	err = errors.Join(articles.Insert(ctx, kv.Buffered, &Article{Text: "long"}),
		articles.Insert(ctx, kv.Buffered, &Article{Text: "longer"}),
		views.Set(ctx, kv.Buffered, record.Int(1), 7), views.Set(ctx, kv.Buffered, record.Int(2), 5))
	first, getErr := articles.Get(ctx, record.Int(1))
	total, sumErr := record.Sum(ctx, views, record.Span{}) // reads the views alone
	fmt.Println(first, total.Int, err, getErr, sumErr)
	// Output:
	// {1 long 7} 12 <nil> <nil> <nil>
}

// Records with slices, structs and maps are found by each element of a slice, page by page.
func ExampleCollection_Page() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:page")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	type Place struct{ City, Street string }
	type Shop struct {
		ID    int64    `record:"id"`
		Name  string   `record:"name"`
		At    Place    `record:"at"`
		Sells []string `record:"sells"`
		Hours map[string][2]int
	}
	shops, err := record.Open[Shop](ctx, db, &record.Options{Indexes: []record.Index{
		{Name: "sells", Fields: []string{"sells"}}, {Name: "city", Fields: []string{"at.City", "name"}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range []Shop{
		{Name: "Anna", At: Place{"Vienna", "Graben 1"}, Sells: []string{"bread", "milk"},
			Hours: map[string][2]int{"Monday": {8, 18}}},
		{Name: "Bert", At: Place{"Graz", "Ring 2"}, Sells: []string{"milk", "tea"}},
		{Name: "Cora", At: Place{"Vienna", "Ring 3"}, Sells: []string{"milk"}},
	} {
		if err := shops.Insert(ctx, kv.Buffered, &s); err != nil {
			log.Fatal(err)
		}
	}
	q := record.Query{Index: "sells", Equal: []any{"milk"}, Limit: 2}
	for {
		page, next, err := shops.Page(ctx, q)
		if err != nil {
			log.Fatal(err)
		}
		for _, s := range page {
			fmt.Println(s.Name, "in", s.At.City)
		}
		fmt.Println("next:", next != nil)
		if next == nil {
			break
		}
		q.After = next
	}
	n, err := shops.Count(ctx, record.Query{Index: "city", Equal: []any{"Vienna"},
		Where: []record.Condition{{Field: "sells", In: []any{"tea", "bread"}}}})
	fmt.Println("in Vienna, with tea or bread:", n, err)
	// Output:
	// Anna in Vienna
	// Bert in Graz
	// next: true
	// Cora in Vienna
	// next: false
	// in Vienna, with tea or bread: 1 <nil>
}

// A field gets another name by a tag. What is stored stays as it is, and indexes go on.
func ExampleOptions_rename() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:rename")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	type Old struct {
		ID   int64
		Mail string `record:"mail"`
	}
	before, err := record.Open[Old](ctx, db, &record.Options{Indexes: []record.Index{{Name: "by_mail",
		Fields: []string{"mail"}, Unique: true}}})
	if err != nil {
		log.Fatal(err)
	}
	if err := before.Put(ctx, kv.Buffered, &Old{1, "ada@example.com"}); err != nil {
		log.Fatal(err)
	}
	type New struct {
		ID      int64
		Address string `record:"address,was=mail"`
	}
	after, err := record.Open[New](ctx, db, nil)
	if err != nil {
		log.Fatal(err)
	}
	found, err := after.Find(ctx, "by_mail", "ada@example.com")
	fmt.Println(found, err)
	err = after.Put(ctx, kv.Buffered, &New{2, "ada@example.com"})
	d, _ := errors.AsType[*record.Duplicate](err)
	fmt.Println(d.Index, d.Owner, errors.Is(err, kv.Conflict))
	// Output:
	// [{1 ada@example.com}] <nil>
	// by_mail 1 true
}
