package badgerkv_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv"
)

// TestFilesOfAKilledCreationDoNotLockTheStore puts the files there that a process leaves when it is
// killed after it made a log file and before it gave it its size.
func TestFilesOfAKilledCreationDoNotLockTheStore(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("not repaired on Windows: Badger's lock cannot be held meanwhile")
	}
	dir := filepath.Join(t.TempDir(), "store")
	db, err := kv.Open(t.Context(), "badger:"+dir)
	if err != nil {
		t.Fatal(err)
	}
	put := func(tx *kv.Tx) error { return tx.Put([]byte("key"), []byte("value")) }
	if err := db.Update(t.Context(), kv.Synced, put); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"000077.vlog", "00077.mem"} {
		empty := filepath.Join(dir, name)
		if err := os.WriteFile(empty, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if raw, err := badger.Open(badger.DefaultOptions(dir).WithLogger(nil)); err == nil {
			_ = raw.Close() // opened only to see
			t.Fatalf("Badger itself opens a folder with an empty %s now: removeLeftovers is no longer needed", name)
		}
		if err := os.WriteFile(empty, nil, 0o600); err != nil { // the attempt gave it a size
			t.Fatal(err)
		}
		db, err := kv.Open(t.Context(), "badger:"+dir)
		if err != nil {
			t.Fatalf("with an empty %s: %v", name, err)
		}
		err = db.View(t.Context(), func(s *kv.Snapshot) error {
			_, err := s.Get([]byte("key"))
			return err
		})
		if err != nil {
			t.Errorf("with an empty %s: %v", name, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
