package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

// failSync lets the nth sync of the log from now on fail. What it would have written is lost: the
// system takes it for clean, and no later sync writes it.
func failSync(disk *powertest.Disk, n uint64) {
	disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: n, Err: syscall.EIO, Match: "*-wal"})
}

// afterCut opens what is left of db if the power fails now.
func afterCut(t *testing.T, disk *powertest.Disk, engine string) *kv.DB {
	t.Helper()
	return open(t, engine, filepath.Join(disk.Cut(t), "db"), "")
}

func aFailedSyncOfACheckpointIsNotPassedOver(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	db := open(t, engine, filepath.Join(disk.Dir(), "db"), "?wal_autocheckpoint=10")
	failSync(disk, 1)
	var err error
	for i := 1; err == nil && disk.Failed() == 0; i++ {
		err = db.Put(t.Context(), kv.Flushed, []byte("a"), fmt.Append(nil, i))
	}
	wantKind(t, "the commit whose checkpoint failed", err, kv.InDoubt)
	if err := db.Put(t.Context(), kv.Synced, []byte("b"), nil); err == nil {
		if got := all(t, afterCut(t, disk, engine), kv.Range{}); !strings.HasSuffix(got, "b=") {
			t.Errorf("a synced commit is lost: got %q", got)
		}
	}
}

func aFailedSyncLosesNothingThatOthersCommit(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	path := filepath.Join(disk.Dir(), "db")
	db, other := open(t, engine, path, ""), open(t, engine, path, "")
	put(t, other, "a", "0")
	put(t, db, "a", "1")
	failSync(disk, 1)
	wantKind(t, "a synced commit", db.Put(t.Context(), kv.Synced, []byte("a"), []byte("2")), kv.InDoubt)
	if err := other.Put(t.Context(), kv.Synced, []byte("b"), []byte("3")); err != nil {
		t.Fatal(err)
	}
	if got := all(t, afterCut(t, disk, engine), kv.Range{}); got != "a=1 b=3" && got != "a=2 b=3" {
		t.Errorf("what another handle committed is lost: got %s", got)
	}
}

func aFailedSyncOfCompactLosesNothing(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	db := open(t, engine, filepath.Join(disk.Dir(), "db"), "")
	put(t, db, "a", "1")
	failSync(disk, 1)
	failSync(disk, 2) // the repair's
	if err := db.Compact(t.Context()); err == nil || disk.Failed() != 2 {
		t.Fatalf("compact: got %v, %d syncs failed", err, disk.Failed())
	}
	if err := db.Put(t.Context(), kv.Synced, []byte("b"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	if got := all(t, afterCut(t, disk, engine), kv.Range{}); got != "a=1 b=2" {
		t.Errorf("a synced commit is lost: got %s", got)
	}
}
