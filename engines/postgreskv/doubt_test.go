package postgreskv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/engines/postgreskv/postgrestest/wire"
	"github.com/assaydb/assay/kv"
)

func openTable(t *testing.T, dsn string) *kv.DB {
	t.Helper()
	db, err := kv.Open(t.Context(), "postgres:kv?"+dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// add adds one to a number, and returns how often it has run.
func add(t *testing.T, db *kv.DB) (runs int, err error) {
	err = db.Update(t.Context(), kv.Synced, func(tx *kv.Tx) error {
		runs++
		v, err := tx.Get([]byte("sum"))
		if err != nil && !errors.Is(err, kv.NotFound) {
			return err
		}
		return tx.Put([]byte("sum"), append(v, '+'))
	})
	return runs, err
}

// TestLooksForLostCommits: a commit that did not arrive is run again, one whose answer was lost is
// not, and each is there once.
func TestLooksForLostCommits(t *testing.T) {
	t.Parallel()
	w := wire.New(t, postgrestest.Start(t).Socket())
	db := openTable(t, paramsOf(w.DSN()))
	for i, c := range []struct {
		fate wire.Fate
		runs int
	}{{wire.Passes, 1}, {wire.GetsLost, 2}, {wire.AnswerLost, 1}, {wire.AnswerLost, 1}, {wire.GetsLost, 2},
		{wire.Passes, 1}} {
		w.Next(c.fate)
		runs, err := add(t, db)
		if err != nil || runs != c.runs {
			t.Errorf("step %d: ran %d times, %v; want %d", i, runs, err, c.runs)
		}
		if v, err := db.Get(t.Context(), []byte("sum")); err != nil || len(v) != i+1 {
			t.Fatalf("step %d: the sum is %d, %v", i, len(v), err)
		}
	}
}

// TestALateCommitDoesNothing: the server gets the commit of a client that has given it up, when it
// has done the same and more.
func TestALateCommitDoesNothing(t *testing.T) {
	t.Parallel()
	w := wire.New(t, postgrestest.Start(t).Socket())
	db := openTable(t, paramsOf(w.DSN()))
	put := func(value string) {
		t.Helper()
		if err := db.Put(t.Context(), kv.Synced, []byte("k"), []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	put("first")
	w.Next(wire.ComesLate)
	put("old")
	put("new")
	w.Late()
	if v, err := db.Get(t.Context(), []byte("k")); string(v) != "new" {
		t.Errorf("got %q, %v, want new", v, err)
	}
}

// TestACommitStaysInDoubt where nobody answers, and the store goes on when somebody does.
func TestACommitStaysInDoubt(t *testing.T) {
	t.Parallel()
	w := wire.New(t, postgrestest.Start(t).Socket())
	db := openTable(t, paramsOf(w.DSN())+"&timeout=3")
	w.Next(wire.CutsOff)
	if _, err := add(t, db); !errors.Is(err, kv.InDoubt) {
		t.Fatalf("got %v, want in doubt", err)
	}
	if _, err := db.Get(t.Context(), []byte("sum")); err == nil || errors.Is(err, kv.NotFound) {
		t.Errorf("a read of a server that is not there: %v", err)
	}
	w.Next(wire.Passes)
	if _, err := add(t, db); err != nil {
		t.Fatal(err)
	}
	if v, err := db.Get(t.Context(), []byte("sum")); err != nil || len(v) != 1 {
		t.Errorf("the sum is %d, %v", len(v), err)
	}
}

// TestWaitsForAServerThatStartsAgain: what is under way when it ends is done when it is back, and a
// wait ends with its context.
func TestWaitsForAServerThatStartsAgain(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	db := openTable(t, paramsOf(s.DSN())+"&timeout=600")
	for i := range 3 {
		if i%2 == 0 {
			s.Stop()
		} else if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- db.Put(ctx, kv.Synced, []byte("never"), nil) }()
		cancel()
		if err := <-done; !errors.Is(err, kv.Canceled) {
			t.Errorf("a wait that was ended: %v", err)
		}
		key := fmt.Appendf(nil, "key %d", i)
		go func() { done <- db.Put(t.Context(), kv.Synced, key, key) }()
		if err := s.Launch(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if v, err := db.Get(t.Context(), key); string(v) != string(key) {
			t.Fatalf("%s: %q, %v", key, v, err)
		}
	}
}
