package postgreskv_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer/live"
)

// TestSwitchesToPostgres moves a program from bbolt to PostgreSQL while it writes. No write that
// was acknowledged is lost.
func TestSwitchesToPostgres(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	old, fresh := "bbolt:"+filepath.Join(dir, "app.db"), "postgres:switched?"+params(t)
	db, err := kv.Open(ctx, old)
	if err != nil {
		t.Fatal(err)
	}
	var b kv.Batch
	for i := range 5000 {
		b.Put(fmt.Appendf(nil, "before/%05d", i), fmt.Appendf(nil, "value %d", i))
	}
	if err := errors.Join(db.Write(ctx, kv.Synced, &b), db.Close()); err != nil {
		t.Fatal(err)
	}
	if db, err = live.Open(ctx, filepath.Join(dir, "app.switch"), old, fresh); err != nil {
		t.Fatal(err)
	}
	s, err := live.Of(db)
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := make([]int, 4) // by writer, which alone has its own until it ends
	wrote, stop := make(chan struct{}), make(chan struct{})
	var writers sync.WaitGroup
	for w := range acknowledged {
		writers.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Appendf(nil, "during/%d/%06d", w, n)
				if err := db.Put(ctx, kv.Synced, key, key); err != nil {
					t.Error(err)
					<-stop
					return
				}
				acknowledged[w] = n + 1
				select {
				case <-stop:
					return
				case wrote <- struct{}{}:
				default:
				}
			}
		})
	}
	// each move happens amid writes
	more := func() {
		for range 20 {
			if t.Failed() {
				return
			}
			<-wrote
		}
	}
	for _, to := range []live.Phase{live.Flipped, live.Shadowed, live.Flipped, live.Dropped} {
		more()
		if err := s.Move(ctx, to); err != nil {
			t.Fatalf("to %v: %v; %+v", to, err, s.Status())
		}
	}
	more()
	close(stop)
	writers.Wait()
	if st := s.Status(); st.Differing > 0 || st.Missed > 0 {
		t.Errorf("%+v", st)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = kv.Open(ctx, fresh); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	pairs := 0
	err = db.View(ctx, func(s *kv.Snapshot) error {
		for range s.Keys(kv.Range{}) {
			pairs++
		}
		return nil
	})
	want := 5000
	for w, n := range acknowledged {
		want += n
		for i := range n {
			key := fmt.Appendf(nil, "during/%d/%06d", w, i)
			if v, err := db.Get(ctx, key); err != nil || string(v) != string(key) {
				t.Fatalf("%s: %q, %v", key, v, err)
			}
		}
	}
	if err != nil || pairs != want {
		t.Errorf("PostgreSQL holds %d pairs of %d, %v", pairs, want, err)
	}
	t.Logf("%d writes amid the moves", want-5000)
}

// TestHoldsWhatWasCommitted: pairs of each class outlive the store that committed them, two stores
// see each other's commits, and one that meets another is run again.
func TestHoldsWhatWasCommitted(t *testing.T) {
	ctx := t.Context()
	url := "postgres:held?" + params(t)
	open := func(options ...kv.Option) *kv.DB {
		t.Helper()
		db, err := kv.Open(ctx, url, options...)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	if _, err := kv.Open(ctx, url, kv.WithMode(kv.ReadOnly)); !errors.Is(err, kv.NoStore) {
		t.Errorf("a table that is not there, to read: %v", err)
	}
	a := open(kv.WithWeakest(kv.Buffered))
	for _, d := range []kv.Durability{kv.Synced, kv.Flushed, kv.Buffered} {
		if err := a.Put(ctx, d, []byte(d.String()), []byte("value")); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	if v, err := b.Get(ctx, []byte("buffered")); err != nil || string(v) != "value" {
		t.Errorf("after the store was closed: %q, %v", v, err)
	}
	const each = 50
	var adders sync.WaitGroup
	for _, db := range []*kv.DB{a, b} {
		adders.Go(func() {
			for range each {
				for done := false; !done && !t.Failed(); {
					err := db.Update(ctx, kv.Flushed, func(tx *kv.Tx) error {
						v, err := tx.Get([]byte("sum"))
						if err != nil && !errors.Is(err, kv.NotFound) {
							return err
						}
						return tx.Put([]byte("sum"), append(v, '+'))
					})
					if done = err == nil; !done && !errors.Is(err, kv.Aborted) {
						t.Error(err)
					}
				}
			}
		})
	}
	adders.Wait()
	if v, err := a.Get(ctx, []byte("sum")); err != nil || len(v) != 2*each {
		t.Errorf("%d of %d additions are there, %v", len(v), 2*each, err)
	}
}
