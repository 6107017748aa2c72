package record_test

import (
	"errors"
	"path/filepath"
	"strings"
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
	err = errors.Join(db.Update(ctx, kv.Buffered, write(1)),
		db.Namespace([]byte("else/")).Update(ctx, kv.Buffered, write(2)),
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

// An index entry whose key is too long fails after the record was written: whoever passes over the
// error commits nothing of the transaction, whose own pair included.
func TestAHalfDoneChangeIsNotCommittedWithTheCallersTransaction(t *testing.T) {
	type page struct {
		ID   int64
		Path string
	}
	ctx := t.Context()
	db, err := kv.Open(ctx, "bbolt:"+filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	pages, err := record.Open[page](ctx, db, &record.Options{Name: "pages",
		Indexes: []record.Index{{Name: "path", Fields: []string{"Path"}}}})
	if err != nil {
		t.Fatal(err)
	}
	change := func(second page) error {
		return db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
			w, err := pages.In(tx)
			if err != nil {
				return err
			}
			if err := errors.Join(tx.Put([]byte("own"), nil), w.Put(&page{1, "/"})); err != nil {
				return err
			}
			if err := w.Put(&second); err == nil {
				t.Error("the key is not too long")
			}
			return nil
		})
	}
	if err := change(page{2, strings.Repeat("x", 40000)}); kv.KindOf(err) != kv.TooLarge {
		t.Errorf("update: %v, want too large", err)
	}
	_, ownErr := db.Get(ctx, []byte("own"))
	_, pageErr := pages.Get(ctx, record.Int(1))
	if kv.KindOf(ownErr) != kv.NotFound || kv.KindOf(pageErr) != kv.NotFound {
		t.Errorf("own pair: %v, record: %v, want neither", ownErr, pageErr)
	}
	if err := pages.Check(ctx); err != nil {
		t.Error(err)
	}
	if err := change(page{}); kv.KindOf(err) != kv.Invalid {
		t.Errorf("a forgotten id: %v, want invalid", err)
	}
}
