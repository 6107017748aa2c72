package kv_test

import (
	"errors"
	"testing"

	"github.com/assaydb/assay/kv"
)

func TestWhatWaitsForACommitIsCalledOnlyAfterIt(t *testing.T) {
	db, boom := openMem(t), errors.New("boom")
	var called []string
	note := func(what string) func() { return func() { called = append(called, what) } }
	err := db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error {
		tx.OnCommit(note("first"))
		tx.Namespace([]byte("n/")).OnCommit(note("second"))
		if len(called) > 0 {
			t.Error("called before the commit")
		}
		return tx.Put([]byte("k"), []byte("v"))
	})
	if err != nil || len(called) != 2 || called[0] != "first" {
		t.Errorf("called %q, %v", called, err)
	}
	called = nil
	if err := db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error { tx.OnCommit(note("rolled back")); return boom }); !errors.Is(err, boom) {
		t.Error(err)
	}
	tx, err := db.Begin(t.Context(), kv.Buffered)
	if err != nil {
		t.Fatal(err)
	}
	tx.OnCommit(note("held"))
	err = errors.Join(tx.Commit(), db.Put(t.Context(), kv.Buffered, []byte("next"), nil))
	tx.OnCommit(note("too late"))
	if err = errors.Join(err, db.Update(t.Context(), kv.Buffered, func(*kv.Tx) error { return nil })); err != nil ||
		len(called) != 1 || called[0] != "held" {
		t.Errorf("called %q, %v", called, err)
	}
}

func TestATransactionThatFailedCommitsNothing(t *testing.T) {
	db, boom := openMem(t), errors.New("boom")
	err := db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error {
		if err := tx.Put([]byte("half"), nil); err != nil {
			return err
		}
		tx.Fail(boom)
		tx.Fail(errors.New("a later one"))
		return nil // as one that ignores errors
	})
	if !errors.Is(err, boom) {
		t.Errorf("got %v, want %v", err, boom)
	}
	if _, err := db.Get(t.Context(), []byte("half")); !errors.Is(err, kv.NotFound) {
		t.Errorf("a part was committed: %v", err)
	}
}

func TestATransactionJoinsAnyNamespaceOfItsStore(t *testing.T) {
	db, other := openMem(t), openMem(t)
	a, b := db.Namespace([]byte("a/")), db.Namespace([]byte("b/"))
	var kept *kv.Tx
	err := a.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error {
		if _, err := other.Join(tx); !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
			t.Errorf("a transaction of another store: %v", err)
		}
		joined, err := b.Join(tx)
		if kept = joined; err != nil {
			return err
		}
		return joined.Put([]byte("k"), []byte("v"))
	})
	if v, gerr := db.Get(t.Context(), []byte("b/k")); err != nil || gerr != nil || string(v) != "v" {
		t.Errorf("got %q, %v, %v", v, gerr, err)
	}
	if err := kept.Put([]byte("k"), nil); !errors.Is(err, kv.Closed) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := a.Join(kept); !errors.Is(err, kv.Closed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestATransactionKeepsOneValueForAKey(t *testing.T) {
	db := openMem(t)
	type key struct{}
	made := 0
	make := func() any { made++; return made }
	for round := range 3 {
		err := db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error {
			first, second := tx.Local(key{}, make), tx.Namespace([]byte("n/")).Local(key{}, make)
			if other := tx.Local("other", func() any { return "other" }); first != round+1 || second != first ||
				other != "other" {
				t.Errorf("got %v, %v and %v in round %d", first, second, other, round)
			}
			if got := tx.Durability(); got != kv.Buffered {
				t.Errorf("class %v", got)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A batch learns in its turn of what a transaction did while it waited.
func TestABatchIsAskedInItsTurn(t *testing.T) {
	boom := errors.New("boom")
	for _, ranges := range []bool{false, true} {
		db := openMem(t)
		var b kv.Batch
		b.Put([]byte("k"), []byte("v"))
		if ranges {
			b.DeleteRange(kv.Prefix([]byte("x")))
		}
		tx, err := db.Begin(t.Context(), kv.Buffered)
		if err != nil {
			t.Fatal(err)
		}
		committed := false
		tx.OnCommit(func() { committed = true })
		asked := make(chan bool, 1)
		b.OnTurn(func() error { asked <- committed; return boom })
		wrote := make(chan error, 1)
		go func() { wrote <- db.Write(t.Context(), kv.Buffered, &b) }()
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-wrote; !errors.Is(err, boom) {
			t.Errorf("got %v, want %v", err, boom)
		}
		if !<-asked {
			t.Error("it was asked while the transaction ran")
		}
		if _, err := db.Get(t.Context(), []byte("k")); !errors.Is(err, kv.NotFound) {
			t.Errorf("it was written: %v", err)
		}
		b.Reset()
		b.Put([]byte("k"), []byte("v"))
		if err := db.Write(t.Context(), kv.Buffered, &b); err != nil || len(asked) > 0 {
			t.Errorf("after Reset: %v, asked %d times", err, len(asked))
		}
	}
}
