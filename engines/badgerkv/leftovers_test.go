package badgerkv_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
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

// TestWhatAKilledProcessLeftIsSynced has a log of a table in memory that is there for all to read
// and not on the disk, as a sync leaves it that failed before its process died.
func TestWhatAKilledProcessLeftIsSynced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("not repaired on Windows: Badger's lock cannot be held meanwhile")
	}
	disk := powertest.NewDisk(t, nil)
	dir, left := filepath.Join(disk.Dir(), "store"), filepath.Join(disk.Dir(), "left")
	db, err := kv.Open(t.Context(), "badger:"+dir)
	if err != nil {
		t.Fatal(err)
	}
	const pairs = 40
	for n := range byte(pairs) {
		if err := db.Put(t.Context(), kv.Synced, []byte{n}, make([]byte, 100_000)); err != nil {
			t.Fatal(err)
		}
	}
	copyOf(t, disk, left, dir)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = kv.Open(t.Context(), "badger:"+left); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(disk.Cut(t), "left")
	_ = db.Close() // on a disk without power
	if db, err = kv.Open(t.Context(), "badger:"+cut); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for n := range byte(pairs) {
		if v, err := db.Get(t.Context(), []byte{n}); err != nil || len(v) != 100_000 {
			t.Fatalf("pair %d: %d bytes, %v", n, len(v), err)
		}
	}
}

// copyOf copies a store on a disk to a folder, of whose files the first 16 MiB tell all, and syncs
// all of it. The sync of the logs fails.
func copyOf(t *testing.T, disk *powertest.Disk, to, from string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(to, 0o700))
	entries, err := os.ReadDir(from)
	must(err)
	for _, e := range entries {
		info, err := e.Info()
		must(err)
		source, err := os.Open(filepath.Join(from, e.Name()))
		must(err)
		f, err := os.Create(filepath.Join(to, e.Name()))
		must(err)
		_, err = io.Copy(f, io.LimitReader(source, 16<<20))
		must(errors.Join(err, f.Truncate(info.Size())))
		if filepath.Ext(e.Name()) == ".mem" {
			disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1})
			if f.Sync() == nil {
				t.Fatal("no sync has failed")
			}
			disk.Heal()
		} else {
			must(f.Sync())
		}
		must(errors.Join(f.Close(), source.Close()))
	}
	folder, err := os.Open(to)
	must(err)
	must(errors.Join(folder.Sync(), folder.Close()))
}
