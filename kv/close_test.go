package kv_test

import (
	"iter"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/assaydb/assay/kv"
)

func TestCloseWaitsAndLaterCallsAreClosed(t *testing.T) {
	for range 50 {
		db := openMem(t)
		put(t, db, "a=1")
		var running atomic.Int64
		var batch kv.Batch // of the third kind, which does not change it
		batch.Put([]byte("b"), nil)
		var group sync.WaitGroup
		for i := range 6 {
			group.Go(func() {
				for {
					fn := func(s *kv.Snapshot) error {
						running.Add(1)
						defer running.Add(-1)
						_, err := s.Get([]byte("a"))
						return err
					}
					var err error
					switch i % 3 {
					case 0:
						err = db.View(ctx, fn)
					case 1:
						err = db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error { return fn(tx.Snapshot) })
					case 2:
						err = db.Write(ctx, kv.Buffered, &batch)
					}
					if kv.KindOf(err) == kv.Closed {
						return
					}
					if err != nil {
						t.Errorf("before Close: %v", err)
						return
					}
				}
			})
		}
		for range 2 {
			group.Go(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
				if n := running.Load(); n != 0 {
					t.Errorf("Close returned while %d functions ran", n)
				}
			})
		}
		group.Wait()
	}
}

func TestClosingANamespaceLeavesTheStoreOpen(t *testing.T) {
	db := openMem(t)
	if err := db.Namespace([]byte("a")).Close(); err != nil {
		t.Error(err)
	}
	if err := db.View(ctx, func(*kv.Snapshot) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestEndedSnapshotsAreClosed(t *testing.T) {
	db := openMem(t)
	put(t, db, "a=1")
	var s *kv.Snapshot
	var tx *kv.Tx
	if err := db.View(ctx, func(got *kv.Snapshot) error { s = got; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := db.Update(ctx, kv.Buffered, func(got *kv.Tx) error { tx = got; return nil }); err != nil {
		t.Fatal(err)
	}
	_, err := s.Get([]byte("a"))
	wantKind(t, "get", err, kv.Closed)
	_, err = s.Has([]byte("a"))
	wantKind(t, "has", err, kv.Closed)
	for range s.Scan(kv.Range{}) {
		t.Error("an ended snapshot gave a pair")
	}
	wantKind(t, "scan", s.Err(), kv.Closed)
	wantKind(t, "put", tx.Put([]byte("a"), nil), kv.Closed)
	wantKind(t, "delete", tx.Delete([]byte("a")), kv.Closed)
	_, err = tx.Get([]byte("a"))
	wantKind(t, "get of a transaction", err, kv.Closed)
}

// The memory of a View is used again by the next one, but for what the program may still have of
// it.
func TestWhatIsKeptOfAViewStaysClosedInTheNext(t *testing.T) {
	db := openMem(t)
	put(t, db, "a=1", "b=2", "c=3")
	type kept struct {
		s, n *kv.Snapshot
		it   *kv.Iterator
		next func() ([]byte, []byte, bool)
	}
	keep := func(s *kv.Snapshot, open bool) (k kept) {
		k.s, k.n, k.it = s, s.Namespace([]byte("b")), s.Iter(kv.Range{})
		var stop func()
		k.next, stop = iter.Pull2(s.Scan(kv.Range{}))
		k.next()
		if t.Cleanup(stop); !open {
			stop()
			if err := k.it.Close(); err != nil {
				t.Error(err)
			}
		}
		return k
	}
	for _, open := range []bool{false, true} {
		var k kept
		var tx *kv.Tx
		err := db.View(ctx, func(s *kv.Snapshot) error { k = keep(s, open); return nil })
		if (kv.KindOf(err) == kv.Invalid) != open {
			t.Errorf("a View with open scans (%v): got %v", open, err)
		}
		if err := db.Update(ctx, kv.Buffered, func(got *kv.Tx) error { tx = got; return nil }); err != nil {
			t.Error(err)
		}
		look := func() {
			t.Helper()
			for what, s := range map[string]*kv.Snapshot{"snapshot": k.s, "namespace": k.n,
				"transaction": tx.Snapshot} {
				_, err := s.Get([]byte("a"))
				wantKind(t, "get of a "+what, err, kv.Closed)
				for range s.Scan(kv.Range{}) {
					t.Errorf("a pair of a %s", what)
				}
				wantKind(t, "scan of a "+what, s.Err(), kv.Closed)
			}
			wantKind(t, "put", tx.Put([]byte("a"), nil), kv.Closed)
			if k.it.Next() || kv.KindOf(k.it.Err()) != kv.Closed {
				t.Errorf("iterator: got %q, %v", k.it.Key(), k.it.Err())
			}
			if key, _, ok := k.next(); ok {
				t.Errorf("scan that was left open: got %q", key)
			}
		}
		for range 2 {
			err := db.View(ctx, func(s *kv.Snapshot) error {
				for range s.Scan(kv.Range{}) {
					look()
				}
				return s.Err()
			})
			if err != nil {
				t.Error(err)
			}
			if err := db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
				look()
				return tx.Put([]byte("a"),
					nil)
			}); err != nil {
				t.Error(err)
			}
		}
	}
}
