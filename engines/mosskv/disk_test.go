package mosskv_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/couchbase/moss"

	"github.com/assaydb/assay/engines/mosskv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/lab/powertest"
)

func TestOnADiskThatFails(t *testing.T) {
	drivertest.RunOnDisk(t, drivertest.Config{Engine: "moss"}, powertest.NewDisk(t, nil))
}

// A process dies of a failed sync of the file that a compaction made: who comes next sees all of
// it, of which nothing is on the disk, beside the one before.
func TestTheFileOfACompactionIsSyncedBeforeTheOlderOneGoes(t *testing.T) {
	ctx, disk := t.Context(), powertest.NewDisk(t, nil)
	folder := filepath.Join(disk.Dir(), "db")
	db, err := mosskv.Open(ctx, folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Put(ctx, kv.Synced, []byte("a"), []byte("1")), db.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(folder, moss.FormatFName(1)))
	if err != nil {
		t.Fatal(err)
	}
	compacted, err := os.Create(filepath.Join(folder, moss.FormatFName(2)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := compacted.Write(data); err != nil {
		t.Fatal(err)
	}
	disk.Fail(1, syscall.EIO)
	if err := compacted.Sync(); err == nil {
		t.Fatal("the sync does not fail")
	}
	disk.Heal()
	if err := errors.Join(compacted.Close(), driver.SyncDir(folder)); err != nil {
		t.Fatal(err)
	}
	if db, err = mosskv.Open(ctx, folder, nil); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(disk.Cut(t), "db")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := mosskv.Open(ctx, left, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	if v, err := after.Get(ctx, []byte("a")); string(v) != "1" {
		t.Errorf("a is %q, %v after the power cut, want 1", v, err)
	}
}
