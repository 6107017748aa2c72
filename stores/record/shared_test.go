package record_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

// Handles of one file stand in for processes: they share nothing in memory.
func TestProcessesThatStartAtOnceBuildOneIndex(t *testing.T) {
	const handles, records = 4, 1500
	url := "sqlite:" + filepath.Join(t.TempDir(), "store")
	open := func() *kv.DB {
		db, err := kv.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	first, err := record.Open[Account](t.Context(), open(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []Account
	for i := range int64(records) {
		list = append(list, Account{ID: i + 1, Email: fmt.Sprintf("%d@example.com", i), City: fmt.Sprint(i % 7)})
	}
	if err := first.PutAll(t.Context(), kv.Flushed, list); err != nil {
		t.Fatal(err)
	}
	o := &record.Options{Indexes: []record.Index{{Name: "email", Fields: []string{"email"}, Unique: true},
		{Name: "city", Fields: []string{"city"}}}}
	var wg sync.WaitGroup
	for range handles {
		db := open()
		wg.Go(func() {
			c, err := record.Open[Account](t.Context(), db, o)
			if err == nil {
				err = c.Check(t.Context())
			}
			if err != nil {
				t.Errorf("open: %v", err)
			}
		})
	}
	wg.Wait()

	err = first.Put(t.Context(), kv.Flushed, &Account{ID: records + 1})
	if kv.KindOf(err) != kv.Conflict || kv.HintOf(err) == "" {
		t.Errorf("a put that knows nothing of the indexes: %v, want a conflict with a hint", err)
	}
	again, err := record.Open[Account](t.Context(), open(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Put(t.Context(), kv.Flushed, &Account{ID: records + 1, Email: "last"}); err != nil {
		t.Error(err)
	}
	if err := again.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTypesThatCannotBeStoredAreNamed(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem:types")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	type inner struct{ A func() }
	check := func(what string, err error, word string) {
		t.Helper()
		if kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "" || !contains(err, word) {
			t.Errorf("%s: %v, want invalid with %q and a hint", what, err, word)
		}
	}
	_, err = record.Open[int](t.Context(), db, nil)
	check("not a struct", err, "int")
	_, err = record.Open[struct {
		ID   int
		Tags map[float64]string
	}](t.Context(), db, nil)
	check("a map", err, "Tags")
	_, err = record.Open[struct {
		ID   int
		Them []map[string]*inner
	}](t.Context(), db, nil)
	check("a part of a struct within", err, "field A")
	_, err = record.Open[struct {
		ID   int
		List []recursive
	}](t.Context(), db, nil)
	check("a type that is part of itself", err, "recursive")
	_, err = record.Open[struct {
		ID     int
		hidden int
	}](t.Context(), db, nil)
	check("a hidden field", err, "hidden")
	_, err = record.Open[struct {
		ID int
		A  int `record:"x"`
		B  int `record:"X"`
	}](t.Context(), db, nil)
	check("two of a name", err, "same name")
	_, err = record.Open[struct{ Name string }](t.Context(), db, nil)
	check("no id", err, "no id")
	_, err = record.Open[struct {
		ID float64
	}](t.Context(), db, nil)
	check("an id of another kind", err, "float64")
	_, err = record.Open[struct {
		ID int
		A  string `record:"a b"`
	}](t.Context(), db, nil)
	check("a name with a space", err, "a b")
	_, err = record.Open[Account](t.Context(), db, &record.Options{Codec: 9})
	check("an unknown codec", err, "9")
	_, err = record.Open[Account](t.Context(), db, &record.Options{Default: Account{}})
	check("a default that is no pointer", err, "Default")
}

type recursive struct{ Next *recursive }

func contains(err error, word string) bool { return err != nil && strings.Contains(err.Error(), word) }

// A damaged header or record is an error, never garbage.
func TestDamageIsCorrupt(t *testing.T) {
	for _, key := range []string{"h", "r\x80\x00\x00\x00\x00\x00\x00\x07"} {
		db, err := kv.Open(t.Context(), "mem:damage")
		if err != nil {
			t.Fatal(err)
		}
		accounts, err := record.Open[Account](t.Context(), db, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := accounts.Put(t.Context(), kv.Buffered, &Account{ID: 7, Email: "ada"}); err != nil {
			t.Fatal(err)
		}
		err = db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error {
			v, err := tx.Get([]byte(key))
			if err != nil {
				return err
			}
			return tx.Put([]byte(key), v[:len(v)-3])
		})
		if err != nil {
			t.Fatal(err)
		}
		if accounts, err = record.Open[Account](t.Context(), db, nil); err == nil {
			_, err = accounts.Get(t.Context(), record.Int(7))
		}
		if kv.KindOf(err) != kv.Corrupt {
			t.Errorf("key %q: %v, want corrupt", key, err)
		}
		db.Close()
	}
}

// An index that another process dropped has no entries, which is not to have found nothing.
func TestAQueryByAnIndexThatAnotherProcessDroppedIsAConflict(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "store")
	open := func() *record.Collection[Account] {
		db, err := kv.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		accounts, err := record.Open[Account](t.Context(), db, &record.Options{Indexes: []record.Index{
			{Name: "email", Fields: []string{"email"}}, {Name: "city", Fields: []string{"city"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return accounts
	}
	one, two := open(), open()
	if err := one.Put(t.Context(), kv.Flushed, &Account{ID: 1, Email: "ada", City: "London"}); err != nil {
		t.Fatal(err)
	}
	if err := two.DropIndex(t.Context(), "email"); err != nil {
		t.Fatal(err)
	}
	if list, err := one.Find(t.Context(), "email", "ada"); kv.KindOf(err) != kv.Conflict || kv.HintOf(err) == "" {
		t.Errorf("found %v, %v, want a conflict with a hint", list, err)
	}
	if list, err := one.Find(t.Context(), "city", "London"); err != nil || len(list) != 1 {
		t.Errorf("by an index that is there: %v, %v", list, err)
	}
	two = open() // which builds it anew
	if list, err := two.Find(t.Context(), "email", "ada"); err != nil || len(list) != 1 {
		t.Errorf("by the new index: %v, %v", list, err)
	}
}

// A damaged record goes when it is replaced or deleted, and its entries with it.
func TestADamagedRecordCanBeReplacedAndDeleted(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem:damaged")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	accounts, err := record.Open[Account](t.Context(), db, &record.Options{Indexes: []record.Index{
		{Name: "email", Fields: []string{"email"}, Unique: true}, {Name: "city", Fields: []string{"city"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	list := []Account{{1, "ada", "London", 1}, {2, "kurt", "Vienna", 2}, {3, "alan", "London", 3}}
	if err := accounts.PutAll(t.Context(), kv.Buffered, list); err != nil {
		t.Fatal(err)
	}
	for _, id := range "\x01\x02" {
		err := db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error {
			return tx.Put([]byte("r\x80\x00\x00\x00\x00\x00\x00"+string(id)), []byte("?"))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := accounts.Check(t.Context()); kv.KindOf(err) != kv.Corrupt {
		t.Fatalf("check: %v, want corrupt", err)
	}
	if err := accounts.Put(t.Context(), kv.Buffered, &Account{ID: 1, Email: "lovelace", City: "Bath"}); err != nil {
		t.Errorf("put: %v", err)
	}
	if err := accounts.Delete(t.Context(), kv.Buffered, record.Int(2)); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := accounts.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	if err := accounts.Put(t.Context(), kv.Buffered, &Account{ID: 4, Email: "ada", City: "Turin"}); err != nil {
		t.Errorf("the email of the record that was damaged: %v", err)
	}
}
