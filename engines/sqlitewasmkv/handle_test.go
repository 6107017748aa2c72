package sqlitewasmkv_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/vfs/memdb"

	"github.com/assaydb/assay/engines/sqlitewasmkv"
	"github.com/assaydb/assay/kv"
)

// What holds of all builds is tested in engines/internal/sqlite. This driver of database/sql has
// the name of go-sqlite3's, so that no program has both.
func TestWrapLeavesTheDatabaseToTheProgram(t *testing.T) {
	h, err := sql.Open("sqlite3", "file:"+filepath.Join(t.TempDir(), "own.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Exec("CREATE TABLE notes(note TEXT)"); err != nil {
		t.Fatal(err)
	}
	db, err := sqlitewasmkv.Wrap(h)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := sqlitewasmkv.Handle(db); !ok || got != h {
		t.Errorf("the handle is %v, %v", got, ok)
	}
	if err := errors.Join(db.Put(t.Context(), kv.Synced, []byte("a"), []byte("1")), db.Close()); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := h.QueryRow("SELECT v FROM kv WHERE k = CAST('a' AS BLOB)").Scan(&got); err != nil || got != "1" {
		t.Errorf("the program reads %q, %v", got, err)
	}
}

// A database in memory may have the name of a file.
func TestWrapRefusesMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := sql.Open("sqlite3", "file:"+path+"?vfs=memdb")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := sqlitewasmkv.Wrap(h); !errors.Is(err, kv.Invalid) {
		t.Errorf("got %v, want invalid", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 0 {
		t.Errorf("the file of that name: %v, %v", info.Size(), err)
	}
}
