package kv_test

import (
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
