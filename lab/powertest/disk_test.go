package powertest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dgraph-io/badger/v4"
	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

// calls are one of each kind that changes a disk, in order.
func calls(dir string) []func() error {
	at := func(name string) string { return filepath.Join(dir, name) }
	var f *os.File
	return []func() error{
		func() (err error) { f, err = os.Create(at("f")); return err },
		func() error { _, err := f.Write([]byte("written")); return err },
		func() error { return f.Sync() },
		func() error { return f.Truncate(3) },
		func() error { return errors.Join(os.Link(at("f"), at("link")), f.Close()) },
		func() error { return os.Rename(at("f"), at("g")) },
		func() error { return os.Mkdir(at("d"), 0o700) },
		func() error { return os.Remove(at("d")) },
	}
}

func TestTheNthCallFails(t *testing.T) {
	for n := 1; ; n++ {
		disk := powertest.NewDisk(t, nil)
		disk.Fail(n, fmt.Errorf("the disk is full: %w", syscall.ENOSPC))
		var err error
		done := 0
		for _, call := range calls(disk.Dir()) {
			if err = call(); err != nil {
				break
			}
			done++
		}
		if disk.Failed() == 0 {
			if err != nil || n != len(calls(""))+1 || disk.Calls() != n-1 {
				t.Errorf("no call failed with a fault at %d: %v, %d calls", n, err, disk.Calls())
			}
			return
		}
		if !errors.Is(err, syscall.ENOSPC) || done != n-1 || disk.Calls() != n || disk.Failed() != 1 {
			t.Fatalf("a fault at %d: %v after %d calls, %d were counted, %d failed",
				n, err, done, disk.Calls(), disk.Failed())
		}
	}
}

func TestAFaultThatStaysUntilTheDiskIsHealed(t *testing.T) {
	disk := powertest.NewDisk(t, &powertest.DiskOptions{Space: 1 << 20})
	disk.Arm(powerfs.Fault{Op: powerfs.OnRename | powerfs.OnRemove, Nth: 2, Sticky: true})
	at := filepath.Join(disk.Dir(), "f")
	if err := errors.Join(os.WriteFile(at, nil, 0o600), os.Rename(at, at+"2")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := os.Remove(at + "2"); !errors.Is(err, syscall.EIO) {
			t.Errorf("remove: %v", err)
		}
	}
	disk.Heal()
	if err := os.Remove(at + "2"); err != nil || disk.CallsOf(powerfs.OnRemove) != 3 {
		t.Errorf("healed: %v, %d removals", err, disk.CallsOf(powerfs.OnRemove))
	}
	if err := os.WriteFile(at, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("more than there is space: %v", err)
	}
}

// TestAnEngineInTheTestItself commits to bbolt, which maps what it reads, and looks at images of
// the disk meanwhile.
func TestAnEngineInTheTestItself(t *testing.T) {
	disk := powertest.NewDisk(t, nil)
	db := openBolt(t, disk.Dir())
	const commits = 5
	var per int // calls of a commit
	for i := range commits {
		before := disk.Calls()
		if err := put(db, i); err != nil {
			t.Fatal(err)
		}
		per = disk.Calls() - before
	}
	if got := keysOf(t, disk.Cut(t)); got != "01234" {
		t.Errorf("of 5 synced commits a cut leaves %q", got)
	}
	for n := 1; n <= per; n++ {
		disk.CutBefore(n)
		if err := put(db, commits); err != nil {
			t.Fatal(err)
		}
		if got := keysOf(t, disk.Cut(t)); got != "01234" && n == 1 || got != "012345" && n > 1 {
			t.Errorf("a cut before call %d of %d leaves %q", n, per, got)
		}
	}
	disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1})
	if err := put(db, 6); !errors.Is(err, syscall.EIO) {
		t.Errorf("a commit whose sync failed: %v", err)
	}
}

// TestACallFailsWhileAnEngineOpens lets one call after the other fail while a store is opened that
// power failed under.
func TestACallFailsWhileAnEngineOpens(t *testing.T) {
	disk := powertest.NewDisk(t, nil)
	if err := put(openBolt(t, disk.Dir()), 0); err != nil {
		t.Fatal(err)
	}
	left := disk.Cut(t)
	for n := 1; ; n++ {
		again := powertest.NewDisk(t, &powertest.DiskOptions{From: left})
		again.Fail(n, syscall.EIO)
		db, err := bolt.Open(filepath.Join(again.Dir(), "bolt"), 0o600, nil)
		if err == nil {
			err = errors.Join(put(db, 1), db.Close())
		}
		if again.Failed() == 0 {
			if err != nil || n < 4 { // a commit alone is two writes and two syncs
				t.Errorf("no call failed with a fault at %d: %v", n, err)
			}
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("a fault at %d: %v", n, err)
		}
	}
}

// TestMappedWritesAreInAnImage commits to Badger, which writes through memory, with syncs and
// without.
func TestMappedWritesAreInAnImage(t *testing.T) {
	for _, synced := range []bool{true, false} {
		disk := powertest.NewDisk(t, nil)
		db, err := badger.Open(badgerOptions(disk.Dir()).WithSyncWrites(synced))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		if err := db.Update(func(tx *badger.Txn) error { return tx.Set([]byte("k"), []byte("v")) }); err != nil {
			t.Fatal(err)
		}
		for survivors, want := range map[powerfs.Survivors]bool{powerfs.Everything: true, powerfs.Nothing: synced} {
			disk.Rule.Survivors = survivors
			left, err := badger.Open(badgerOptions(disk.Cut(t)))
			if err != nil {
				if want {
					t.Errorf("synced=%v, %v survives: %v", synced, survivors, err)
				}
				continue
			}
			err = left.View(func(tx *badger.Txn) error { _, err := tx.Get([]byte("k")); return err })
			if err := errors.Join(err, left.Close()); (err == nil) != want {
				t.Errorf("synced=%v, %v survives: the key is there: %v, want %v", synced, survivors, err == nil, want)
			}
		}
	}
}

func badgerOptions(dir string) badger.Options {
	return badger.DefaultOptions(filepath.Join(dir, "badger")).WithLogger(nil).WithMemTableSize(1 << 20).
		WithValueThreshold(1 << 10).WithValueLogFileSize(1 << 20)
}

func openBolt(t *testing.T, dir string) *bolt.DB {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, "bolt"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// put commits the key i.
func put(db *bolt.DB, i int) error {
	return db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("b"))
		if err != nil {
			return err
		}
		return b.Put(fmt.Append(nil, i), nil)
	})
}

// keysOf returns the keys of a store.
func keysOf(t *testing.T, dir string) string {
	t.Helper()
	var keys strings.Builder
	err := openBolt(t, dir).View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("b")).ForEach(func(k, _ []byte) error { keys.Write(k); return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys.String()
}
