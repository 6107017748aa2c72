package duckdbkv_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/engines/duckdbkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/detect"
)

func TestTheHandleQueriesWhatIsCommitted(t *testing.T) {
	db, err := duckdbkv.Open(t.Context(), filepath.Join(t.TempDir(), "db"),
		&duckdbkv.Options{Threads: 2, MemoryLimit: "1GB"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Put(t.Context(), kv.Flushed, []byte("a"), []byte("123")); err != nil {
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

// TestDetectTellsOfAFileThatWasCut: its header says how many blocks there are.
func TestDetectTellsOfAFileThatWasCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db, err := duckdbkv.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b kv.Batch
	for i := range 2000 {
		value := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		b.Put(fmt.Appendf(nil, "key/%04d", i), bytes.Repeat(value[:], 50))
	}
	if err := errors.Join(db.Write(t.Context(), kv.Flushed, &b), db.Compact(t.Context()), db.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := detect.Path(path); err != nil || found.Engine != "duckdb" || found.State != detect.Clean {
		t.Errorf("not cut: %v, %v", found, err)
	}
	for _, size := range []int{20, 4096, 12288, len(data) / 2, len(data) - 4096, len(data) - 1} {
		if err := os.WriteFile(path, data[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := detect.Path(path); err != nil || found.State != detect.Damaged || found.Detail == "" {
			t.Errorf("cut to %d bytes of %d: %v, %v", size, len(data), found, err)
		}
	}
}
