package record_test

import (
	"errors"
	"testing"

	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/stores/record"
)

// A transaction of the whole store is the obvious one to give to a collection in a namespace.
func TestATransactionOfAnyNamespaceWritesUnderTheCollectionsKeys(t *testing.T) {
	type note struct{ ID, N int64 }
	ctx := t.Context()
	db, err := kv.Open(ctx, "mem:join")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	notes, err := record.Open[note](ctx, db.Namespace([]byte("app/")), &record.Options{Name: "notes"})
	if err != nil {
		t.Fatal(err)
	}
	write := func(n int64) func(*kv.Tx) error {
		return func(tx *kv.Tx) error {
			w, err := notes.In(tx)
			if err != nil {
				return err
			}
			return w.Put(&note{ID: n, N: 10 * n})
		}
	}
	err = errors.Join(db.Update(ctx, kv.Buffered, write(1)), db.Namespace([]byte("else/")).Update(ctx, kv.Buffered, write(2)),
		db.Namespace([]byte("app/")).Update(ctx, kv.Buffered, write(3)))
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= 3; n++ {
		if got, err := notes.Get(ctx, record.Int(n)); err != nil || got.N != 10*n {
			t.Errorf("record %d: %+v, %v", n, got, err)
		}
	}
	other, err := kv.Open(ctx, "mem:another")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Update(ctx, kv.Buffered, write(4)); !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
		t.Errorf("a transaction of another store: %v", err)
	}
}
