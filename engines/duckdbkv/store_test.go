package duckdbkv_test

import (
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/engines/duckdbkv"
	"github.com/assaydb/assay/kv"
)

func TestTheHandleQueriesWhatIsCommitted(t *testing.T) {
	db, err := duckdbkv.Open(t.Context(), filepath.Join(t.TempDir(), "db"),
		&duckdbkv.Options{Threads: 2, MemoryLimit: "1GB"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Put(t.Context(), kv.Synced, []byte("a"), []byte("123")); err != nil {
		t.Fatal(err)
	}
	handle, ok := duckdbkv.Handle(db)
	if !ok {
		t.Fatal("no handle")
	}
	var n, threads int
	if err := handle.QueryRow("SELECT sum(octet_length(v)), current_setting('threads') FROM kv").Scan(&n,
		&threads); err != nil || n != 3 || threads != 2 {
		t.Errorf("got %d bytes, %d threads, %v, want 3 and 2", n, threads, err)
	}
	if _, err := duckdbkv.Open(t.Context(), filepath.Join(t.TempDir(), "db"),
		&duckdbkv.Options{Threads: -1}); kv.KindOf(err) != kv.Invalid {
		t.Errorf("-1 threads: got %v, want invalid", err)
	}
}
