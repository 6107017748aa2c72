package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
)

// wrapper is a build's own functions, and the name of its driver of database/sql.
type wrapper struct {
	pool   string
	wrap   func(h *sql.DB, options ...kv.Option) (*kv.DB, error)
	handle func(db *kv.DB) (*sql.DB, bool)
}

// wrappers are those of the builds whose drivers can be in one program.
var wrappers = map[string]wrapper{"sqlite": {"sqlite", sqlitekv.Wrap, sqlitekv.Handle}}

func eachWrapper(t *testing.T, test func(t *testing.T, w wrapper)) {
	for engine, w := range wrappers {
		t.Run(engine, func(t *testing.T) { test(t, w) })
	}
}

// program opens a database as a program does that has tables of its own there.
func (w wrapper) program(t *testing.T, name string) (h *sql.DB) {
	t.Helper()
	h, err := sql.Open(w.pool, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	run(t, h, "CREATE TABLE notes(id INTEGER PRIMARY KEY, note TEXT); INSERT INTO notes(note) VALUES('one')")
	return h
}

func run(t *testing.T, h interface {
	Exec(text string, args ...any) (sql.Result, error)
}, text string) {
	t.Helper()
	if _, err := h.Exec(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func one(t *testing.T, h *sql.DB, text string) (found string) {
	t.Helper()
	if err := h.QueryRow(text).Scan(&found); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return found
}

func TestWrapLeavesTheDatabaseToTheProgram(t *testing.T) {
	eachWrapper(t, func(t *testing.T, w wrapper) {
		h := w.program(t, filepath.Join(t.TempDir(), "own.db"))
		for range 2 { // the table is there the second time
			db, err := w.wrap(h)
			if err != nil {
				t.Fatal(err)
			}
			put(t, db, "a", "1")
			if got := one(t, h, "SELECT v FROM kv WHERE k = CAST('a' AS BLOB)"); got != "1" {
				t.Errorf("the program reads %q", got)
			}
			run(t, h, "INSERT OR REPLACE INTO kv VALUES(CAST('b' AS BLOB), CAST('2' AS BLOB))")
			if got := get(t, db, "b"); got != "2" {
				t.Errorf("the store reads %q", got)
			}
			if p := db.Caps().Promise(kv.Synced); p.Class != kv.Synced || !p.PowerAtomic {
				t.Errorf("synced: %+v", p)
			}
			if got, ok := w.handle(db); !ok || got != h {
				t.Errorf("the handle is %v, %v", got, ok)
			}
			if err := errors.Join(db.Check(t.Context()), db.Close()); err != nil {
				t.Error(err)
			}
		}
		for text, want := range map[string]string{"SELECT note FROM notes": "one", "PRAGMA journal_mode": "delete",
			"PRAGMA application_id": "0", "SELECT count(*) FROM kv": "2"} {
			if got := one(t, h, text); got != want {
				t.Errorf("%s: %q, want %q", text, got, want)
			}
		}
	})
}

// The table is made as soon as a transaction of the program that is in the way has ended.
func TestWrapWaitsToMakeItsTable(t *testing.T) {
	eachWrapper(t, func(t *testing.T, w wrapper) {
		h := w.program(t, filepath.Join(t.TempDir(), "own.db"))
		tx, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		run(t, tx, "PRAGMA busy_timeout = 10000") // its commit may meet one who looks whether it has ended
		run(t, tx, "UPDATE notes SET note = 'two'")
		if _, err := w.wrap(h, kv.WithWait(10*time.Millisecond)); !errors.Is(err, kv.Busy) {
			t.Errorf("got %v, want busy", err)
		}
		ended := make(chan error)
		go func() {
			time.Sleep(50 * time.Millisecond) // nothing depends on it
			ended <- tx.Commit()
		}()
		db, err := w.wrap(h)
		if err := errors.Join(err, <-ended); err != nil {
			t.Fatal(err)
		}
		put(t, db, "a", "1")
		closeDB(t, db)
	})
}

func TestWrapOutlivesThePool(t *testing.T) {
	eachWrapper(t, func(t *testing.T, w wrapper) {
		h := w.program(t, filepath.Join(t.TempDir(), "own.db"))
		db, err := w.wrap(h)
		if err == nil {
			err = h.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		put(t, db, "a", "1")
		if got := get(t, db, "a"); got != "1" {
			t.Errorf("got %q", got)
		}
		closeDB(t, db)
	})
}

// What is not locked as others lock it would lose what others commit, and another VFS has other
// files.
func TestWrapRefusesLocksOfAnotherSort(t *testing.T) {
	eachWrapper(t, func(t *testing.T, w wrapper) {
		for _, how := range []string{"vfs=unix-dotfile", "vfs=unix-none", "nolock=1"} {
			path := filepath.Join(t.TempDir(), "own.db")
			h := w.program(t, "file:"+path+"?"+how)
			if _, err := w.wrap(h); !errors.Is(err, kv.Invalid) {
				t.Errorf("%s: %v, want invalid", how, err)
			}
			if got := one(t, h, "SELECT count(*) FROM sqlite_schema"); got != "1" {
				t.Errorf("%s: %s tables, want that of the program", how, got)
			}
			other, err := sql.Open(w.pool, path)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			run(t, other, "CREATE TABLE kv(k BLOB PRIMARY KEY, v BLOB)")
			tx, err := other.Begin()
			if err != nil {
				t.Fatal(err)
			}
			run(t, tx, "UPDATE notes SET note = 'two'")
			if _, err := w.wrap(h, kv.WithWait(10*time.Millisecond)); err == nil {
				t.Errorf("%s: it is a store while another one writes", how)
			}
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestWrapLeavesThePoolAsItWas(t *testing.T) {
	eachWrapper(t, func(t *testing.T, w wrapper) {
		h := w.program(t, filepath.Join(t.TempDir(), "own.db"))
		h.SetMaxOpenConns(1)
		run(t, h, "PRAGMA busy_timeout = 1234")
		for range 2 {
			db, err := w.wrap(h)
			if err != nil {
				t.Fatal(err)
			}
			put(t, db, "a", "1")
			closeDB(t, db)
			if got := one(t, h, "PRAGMA busy_timeout"); got != "1234" {
				t.Errorf("the program waits %s ms", got)
			}
			run(t, h, "UPDATE notes SET note = 'two'")
		}
		tx, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.wrap(h, kv.WithWait(0)); !errors.Is(err, kv.Busy) {
			t.Errorf("a pool that lends no connection: %v, want busy", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	})
}

func TestWrapForReadingWritesNothing(t *testing.T) {
	eachWrapper(t, func(t *testing.T, w wrapper) {
		path := filepath.Join(t.TempDir(), "own.db")
		h := w.program(t, path)
		if _, err := w.wrap(h, kv.WithMode(kv.ReadOnly)); !errors.Is(err, kv.Invalid) {
			t.Errorf("without the table: %v, want invalid", err)
		}
		run(t, h, "CREATE TABLE kv(k BLOB PRIMARY KEY, v BLOB); INSERT INTO kv VALUES(CAST('a' AS BLOB), x'31')")
		db, err := w.wrap(h, kv.WithMode(kv.ReadOnly))
		if err != nil {
			t.Fatal(err)
		}
		if got := get(t, db, "a"); got != "1" {
			t.Errorf("got %q", got)
		}
		if err := db.Put(t.Context(), kv.Synced, []byte("a"), nil); !errors.Is(err, kv.NotWritable) {
			t.Errorf("put: %v", err)
		}
		closeDB(t, db)
		reader, err := sql.Open(w.pool, "file:"+path+"?mode=ro")
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		if _, err := w.wrap(reader); !errors.Is(err, kv.NotWritable) {
			t.Errorf("a pool that only reads: %v, want not writable", err)
		}
	})
}

func TestWrapRefusesWhatIsNoFileOfItsBuild(t *testing.T) {
	eachWrapper(t, func(t *testing.T, w wrapper) {
		if _, err := w.wrap(w.program(t, ":memory:")); !errors.Is(err, kv.Invalid) {
			t.Errorf("in memory: %v, want invalid", err)
		}
		for _, other := range wrappers {
			if (other.pool == "sqlite") == (w.pool == "sqlite") { // both are in C, or the same
				continue
			}
			path := filepath.Join(t.TempDir(), "own.db")
			if _, err := other.wrap(w.program(t, path)); !errors.Is(err, kv.Invalid) {
				t.Errorf("of another build: %v, want invalid", err)
			}
		}
		path := filepath.Join(t.TempDir(), "own.db")
		h, err := sql.Open(w.pool, path)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		run(t, h, "PRAGMA encoding = 'UTF-16'; CREATE TABLE notes(note)")
		if _, err := w.wrap(h); !errors.Is(err, kv.Invalid) || one(t, h, "SELECT count(*) FROM sqlite_schema") != "1" {
			t.Errorf("of UTF-16: %v, want invalid, and no table", err)
		}
		if got := names(t, filepath.Dir(path)); got != "own.db" {
			t.Errorf("left behind: %s", got)
		}
		h = w.program(t, filepath.Join(t.TempDir(), "own.db"))
		run(t, h, "CREATE TABLE kv(k INTEGER PRIMARY KEY, v BLOB)")
		if _, err := w.wrap(h); !errors.Is(err, kv.Invalid) {
			t.Errorf("a table of numbers: %v, want invalid", err)
		}
	})
}

func TestHandleIsOfWhatWasWrapped(t *testing.T) {
	eachWrapper(t, func(t *testing.T, w wrapper) {
		db := open(t, "sqlite", filepath.Join(t.TempDir(), "db"), "")
		defer closeDB(t, db)
		if _, ok := w.handle(db); ok {
			t.Error("a handle of a store that was opened by its path")
		}
	})
}
