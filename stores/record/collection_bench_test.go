package record_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

// person is a record of ordinary size.
type person struct {
	ID          int64   `record:"id"`
	Name        string  `record:"name"`
	Email       string  `record:"email"`
	City        string  `record:"city"`
	Age         int32   `record:"age"`
	Balance     float64 `record:"balance"`
	Active      bool    `record:"active"`
	Created     int64   `record:"created"`
	Description string  `record:"description"`
}

func newPerson(id int64) person {
	return person{ID: id, Name: fmt.Sprintf("name %d", id), Email: fmt.Sprintf("%d@example.com", id),
		City: fmt.Sprint("city ", id%50),
		Age:  int32(id % 90), Balance: float64(id) / 4, Active: id%2 == 0, Created: 1_700_000_000 + id,
		Description: fmt.Sprintf("Person %d is described by one sentence, of about ninety characters, that holds an id.", id)}
}

const people = 10_000

func benchPeople(b *testing.B, engine string, indexes ...record.Index) *record.Collection[person] {
	db, err := kv.Open(context.Background(), engine+":"+filepath.Join(b.TempDir(), "store"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	c, err := record.Open[person](context.Background(), db, &record.Options{Indexes: indexes})
	if err != nil {
		b.Fatal(err)
	}
	list := make([]person, 0, 1000)
	for id := int64(1); id <= people; id++ {
		if list = append(list, newPerson(id)); len(list) == cap(list) {
			if err := c.PutAll(context.Background(), db.Caps().Cheapest(), list); err != nil {
				b.Fatal(err)
			}
			list = list[:0]
		}
	}
	return c
}

// BenchmarkCollection does what programs do, commits unsynced.
func BenchmarkCollection(b *testing.B) {
	ctx := context.Background()
	byCity := record.Index{Name: "city", Fields: []string{"city"}}
	for _, engine := range []string{"mem", "bbolt", "pebble"} {
		run := func(name string, fn func(i int64) error, c *record.Collection[person]) {
			b.Run(name+"/"+engine, func(b *testing.B) {
				b.ReportAllocs()
				for i := int64(0); b.Loop(); i++ {
					if err := fn(1 + i*7919%people); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		class := kv.Flushed
		if engine == "mem" {
			class = kv.Buffered
		}
		c, x := benchPeople(b, engine), benchPeople(b, engine, byCity)
		run("put", func(i int64) error { p := newPerson(i); return c.Put(ctx, class, &p) }, c)
		list := make([]person, 100)
		run("putall100", func(i int64) error {
			for n := range list {
				list[n] = newPerson(i + int64(n))
			}
			return c.PutAll(ctx, class, list)
		}, c)
		run("put-indexed", func(i int64) error { p := newPerson(i); return x.Put(ctx, class, &p) }, x)
		var p person
		run("read", func(i int64) error { return c.Read(ctx, record.Int(i), &p) }, c)
		run("all1000", func(i int64) error {
			for _, err := range c.All(ctx, record.Span{From: record.Int(i % 9000), Limit: 1000}) {
				if err != nil {
					return err
				}
			}
			return nil
		}, c)
		run("find", func(i int64) error {
			list, err := x.Find(ctx, "city", fmt.Sprint("city ", i%50))
			if len(list) < 150 {
				return fmt.Errorf("%d found", len(list))
			}
			return err
		}, x)
		balance, err := record.FieldOf[float64](c, "balance")
		if err != nil {
			b.Fatal(err)
		}
		run("field-set", func(i int64) error { return balance.Set(ctx, class, record.Int(i), float64(i)) }, c)
		run("field-get", func(i int64) error { _, err := balance.Get(ctx, record.Int(i)); return err }, c)
		run("sum", func(i int64) error { _, err := record.Sum(ctx, balance, record.Span{}); return err }, c)
	}
}
