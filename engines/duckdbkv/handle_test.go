package duckdbkv_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/assaydb/assay/engines/duckdbkv"
	"github.com/assaydb/assay/kv"
)

func TestWrapLeavesTheDatabaseToTheProgram(t *testing.T) {
	for _, path := range []string{"", filepath.Join(t.TempDir(), "own.db")} {
		h, err := sql.Open("duckdb", path)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if _, err := h.Exec("CREATE TABLE notes(note TEXT); INSERT INTO notes VALUES('one')"); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the table is there the second time
			db, err := duckdbkv.Wrap(h)
			if err != nil {
				t.Fatal(err)
			}
			want := kv.Flushed
			if path == "" {
				want = kv.Buffered
			}
			if p := db.Caps().Promise(kv.Buffered); p.Class != want || db.Caps().Persistent != (path != "") {
				t.Errorf("%q: %+v", path, db.Caps())
			}
			err = db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error { return tx.Put([]byte("a"), []byte("1")) })
			if got, gerr := db.Get(t.Context(), []byte("a")); string(got) != "1" {
				t.Errorf("%q: get: %q, %v", path, got, gerr)
			}
			if got, ok := duckdbkv.Handle(db); !ok || got != h {
				t.Errorf("the handle is %v, %v", got, ok)
			}
			if err := errors.Join(err, db.Compact(t.Context()), db.Close()); err != nil {
				t.Error(err)
			}
		}
		var note, value string
		if err := h.QueryRow("SELECT note, decode(v) FROM notes, kv").Scan(&note, &value); err != nil || note+value != "one1" {
			t.Errorf("%q: the program reads %q, %q, %v", path, note, value, err)
		}
	}
}

func TestWrapRefusesATableOfAnotherShape(t *testing.T) {
	for _, shape := range []string{"(k BLOB, v BLOB)", "(k INTEGER PRIMARY KEY, v BLOB)", "(k BLOB PRIMARY KEY, w BLOB)"} {
		h, err := sql.Open("duckdb", "")
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if _, err := h.Exec("CREATE TABLE kv" + shape); err != nil {
			t.Fatal(err)
		}
		if _, err := duckdbkv.Wrap(h); !errors.Is(err, kv.Invalid) {
			t.Errorf("%s: %v, want invalid", shape, err)
		}
	}
}
