package bboltkv_test

import (
	"encoding/binary"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
)

// TestTheTransactionThatIsKeptEndsBeforeAChange: else bbolt could use no page again that the change
// frees, and would wait for ever where it enlarges its memory map.
func TestTheTransactionThatIsKeptEndsBeforeAChange(t *testing.T) {
	db, err := bboltkv.Open(ctx, filepath.Join(t.TempDir(), "p.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h, _ := bboltkv.Handle(db)
	read := func() {
		t.Helper()
		if _, err := db.Has(ctx, []byte("a")); err != nil {
			t.Error(err)
		}
		if n := h.Stats().OpenTxN; n != 1 {
			t.Errorf("after a look at a key %d transactions are open, want the one that is kept", n)
		}
	}
	read()
	begun := h.Stats().TxN
	read()
	if again := h.Stats().TxN; again != begun {
		t.Errorf("the second look began %d transactions", again-begun)
	}
	err = db.Update(ctx, kv.Flushed, func(tx *kv.Tx) error {
		if n := h.Stats().OpenTxN; n != 0 {
			t.Errorf("%d read transactions are open beside the one that writes", n)
		}
		if _, err := db.Has(ctx, []byte("a")); err != nil {
			return err
		}
		if n := h.Stats().OpenTxN; n != 0 {
			t.Errorf("%d were kept while something was written", n)
		}
		return tx.Put([]byte("a"), nil)
	})
	if err != nil {
		t.Error(err)
	}
	read()
	if err := db.Compact(ctx); err != nil {
		t.Error(err)
	}
	if n := h.Stats().OpenTxN; n != 0 {
		t.Errorf("%d transactions keep the file that was replaced", n)
	}
}

// TestAReaderSeesEveryCommitBefore lets a writer count, and readers look.
func TestAReaderSeesEveryCommitBefore(t *testing.T) {
	db, err := bboltkv.Open(ctx, filepath.Join(t.TempDir(), "p.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	key := []byte("count")
	write := func(n uint64) error {
		return db.Put(ctx, kv.Flushed, key, binary.BigEndian.AppendUint64(nil, n))
	}
	if err := write(0); err != nil {
		t.Fatal(err)
	}
	var committed atomic.Uint64
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !done.Load() {
				before := committed.Load()
				v, err := db.Get(ctx, key)
				if err != nil {
					t.Error(err)
					return
				}
				if n := binary.BigEndian.Uint64(v); n < before {
					t.Errorf("read %d after the commit of %d", n, before)
					return
				}
			}
		})
	}
	count := uint64(2000)
	if testing.Short() {
		count = 300
	}
	for n := uint64(1); n <= count; n++ {
		if err := write(n); err != nil {
			t.Error(err)
			break
		}
		committed.Store(n)
	}
	done.Store(true)
	readers.Wait()
}

// TestATransactionThatWasKeptTooLateIsNotRead: a commit may run between the last look of the reader
// that closes and the keeping of its transaction.
func TestATransactionThatWasKeptTooLateIsNotRead(t *testing.T) {
	db, err := bboltkv.Open(ctx, filepath.Join(t.TempDir(), "p.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, want := range []string{"1", "2"} {
		keep := bboltkv.KeepLate(t, db)
		if err := db.Put(ctx, kv.Flushed, []byte("a"), []byte(want)); err != nil {
			t.Fatal(err)
		}
		keep()
		if v, err := db.Get(ctx, []byte("a")); string(v) != want || err != nil {
			t.Errorf("after the commit of %q: got %q, %v", want, v, err)
		}
	}
	h, _ := bboltkv.Handle(db)
	if n := h.Stats().OpenTxN; n != 1 {
		t.Errorf("%d transactions are open, want the one that is kept", n)
	}
}
