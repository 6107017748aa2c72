package buntkv_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/engines/buntkv"
	"github.com/assaydb/assay/kv"
)

// long is how long a test waits for what must come: no test is meant to come near it.
const long = time.Minute

// within fails the test if call does not return.
func within(t *testing.T, what string, call func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-time.After(long):
		t.Fatalf("%s does not return", what)
		return nil
	}
}

// Once a second BuntDB's own goroutine asks for the lock that readers hold, and its lock then lets
// no reader in any more.
func TestAViewOpensBesideOneThatBuntDBWaitsFor(t *testing.T) {
	db := open(t, t.TempDir()+"/db", "")
	put(t, db, "a=1")
	h, ok := buntkv.Handle(db)
	if !ok {
		t.Fatal("no handle")
	}
	err := db.View(ctx, func(outer *kv.Snapshot) error {
		wrote, asked := make(chan error, 1), make(chan error, 1)
		go func() { wrote <- h.Update(func(*buntdb.Tx) error { return nil }) }()
		for waits := false; !waits; {
			go func() { asked <- h.ReadConfig(new(buntdb.Config)) }()
			select {
			case <-asked: // the writer does not wait yet
			case <-time.After(50 * time.Millisecond):
				waits = true
			}
		}
		err := within(t, "a View within a View", func() error {
			return db.View(ctx, func(s *kv.Snapshot) error {
				if v, err := s.Get([]byte("a")); string(v) != "1" || err != nil {
					t.Errorf("got %q, %v", v, err)
				}
				return nil
			})
		})
		go func() { <-wrote; <-asked }()
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAWriteBesideAViewEnds(t *testing.T) {
	t.Parallel() // most of it is waiting
	db := open(t, t.TempDir()+"/db", "?wait=0s")
	put(t, db, "a=1")
	err := db.View(ctx, func(*kv.Snapshot) error {
		err := within(t, "a write beside a View", func() error {
			return db.Put(ctx, kv.Flushed, []byte("a"),
				[]byte("2"))
		})
		if !errors.Is(err, kv.Busy) || kv.HintOf(err) == "" {
			t.Errorf("without a deadline: %v, want Busy with a hint", err)
		}
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		err = within(t, "a write with a deadline", func() error {
			return db.Put(short, kv.Flushed, []byte("a"), []byte("2"))
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a deadline: %v", err)
		}
		// A writer that waits lets a View go first after a while, for the one around it may wait
		// for that.
		waiting := make(chan error, 1)
		go func() { waiting <- db.Put(ctx, kv.Flushed, []byte("a"), []byte("3")) }()
		err = within(t, "a View within a View", func() error {
			return db.View(ctx,
				func(*kv.Snapshot) error { return nil })
		})
		return errors.Join(err, ignoreBusy(<-waiting))
	})
	if err != nil {
		t.Error(err)
	}
	put(t, db, "a=4")
	if got := all(t, db, kv.Range{}); len(got) != 1 || got[0] != "a=4" {
		t.Errorf("got %q", got)
	}
}

func ignoreBusy(err error) error {
	if errors.Is(err, kv.Busy) {
		return nil
	}
	return err
}

// Views without a gap between them keep no writer out.
func TestAWriterComesInBetweenReaders(t *testing.T) {
	db := open(t, t.TempDir()+"/db", "")
	put(t, db, "a=1")
	stop, ended := make(chan struct{}), make(chan error, 4)
	for range cap(ended) {
		go func() {
			for {
				select {
				case <-stop:
					ended <- nil
					return
				default:
				}
				if _, err := db.Get(ctx, []byte("a")); err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	for range 200 {
		put(t, db, "a=2")
	}
	close(stop)
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
