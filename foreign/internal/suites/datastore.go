package suites

import (
	"context"
	"testing"

	ds "github.com/ipfs/go-datastore"
	dstest "github.com/ipfs/go-datastore/test"

	"github.com/assaydb/assay/foreign/datastore"
)

func init() {
	dstest.ElemCount = 20 // instead of 100: a thousand cases put up to four times that many pairs, each by a commit
}

// Datastore is the suite of go-datastore.
func Datastore(t *testing.T, open Open) {
	dstest.SubtestAll(t, datastore.New(open()))
}

// within is a datastore that does everything in one transaction.
type within struct{ ds.Txn }

func (within) Sync(context.Context, ds.Key) error { return nil }
func (within) Close() error                       { return nil }

// DatastoreWithinOneTransaction is the suite of go-datastore, all in one transaction.
func DatastoreWithinOneTransaction(t *testing.T, open Open) {
	db, class := open()
	tx, err := datastore.New(db, class).NewTransaction(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Discard(context.Background())
	dstest.SubtestAll(t, within{tx})
	if t.Failed() {
		return
	}
	if err := tx.Put(t.Context(), ds.NewKey("last"), []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := db.Get(t.Context(), []byte("/last")); err != nil || string(v) != "one" {
		t.Errorf("after the commit: %q, %v", v, err)
	}
}

// DatastoreFeatures is what the suite of go-datastore does not try: features of which a datastore
// may have some.
func DatastoreFeatures(t *testing.T, open Open) {
	db, class := open()
	s, ctx, k := datastore.New(db, class), t.Context(), ds.NewKey("k")
	if err := s.Put(ctx, k, []byte("value")); err != nil {
		t.Fatal(err)
	}
	if err := s.Sync(ctx, k); err != nil { // an engine may keep in memory what is only buffered
		t.Fatal(err)
	}
	calls := map[string]func(context.Context) error{"check": s.Check, "collect": s.CollectGarbage}
	for name, call := range calls {
		if err := call(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	caps := db.Caps() // what a server takes, it does not tell
	if n, err := s.DiskUsage(ctx); err != nil || n == 0 && caps.Persistent && !caps.Remote {
		t.Errorf("disk usage: %d, %v", n, err)
	}
	tx, err := s.NewTransaction(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Discard(ctx)
	if v, err := tx.Get(ctx, k); err != nil || string(v) != "value" {
		t.Errorf("a transaction that reads: %q, %v", v, err)
	}
	if err := tx.Put(ctx, k, nil); err == nil {
		t.Error("a transaction that reads has written")
	}
}
