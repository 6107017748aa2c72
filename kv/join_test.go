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
	if err = errors.Join(err, db.Update(t.Context(), kv.Buffered, func(*kv.Tx) error { return nil })); err != nil || len(called) != 1 || called[0] != "held" {
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
