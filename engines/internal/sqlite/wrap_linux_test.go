package sqlite_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/detect/locks"
)

// SQLite's locks belong to the process, and are gone when any descriptor of the file is closed.
func TestWrapDropsNoLockOfTheProgram(t *testing.T) {
	eachWrapper(t, func(t *testing.T, w wrapper) {
		path := filepath.Join(t.TempDir(), "own.db")
		h := w.program(t, path)
		db, err := w.wrap(h, kv.WithWait(10*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		tx, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		run(t, tx, "UPDATE notes SET note = 'two'")
		before := held(t, path)
		if before == 0 {
			t.Fatal("no lock is held")
		}
		if err := db.Put(t.Context(), kv.Synced, []byte("a"), nil); !errors.Is(err, kv.Busy) {
			t.Errorf("put beside a transaction of the program: %v, want busy", err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if after := held(t, path); after != before {
			t.Errorf("%d locks are held, %d before", after, before)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		if got := one(t, h, "SELECT note FROM notes"); got != "two" {
			t.Errorf("got %q", got)
		}
	})
}

// held counts the locks of the database at path.
func held(t *testing.T, path string) (n int) {
	t.Helper()
	list, err := locks.Held()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		if l.File == locks.ID(path) {
			n++
		}
	}
	return n
}
