package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

// besideAFailure opens a store twice, and puts something by the first handle, to which first is
// done. Then a sync of the second one fails, and so many that were to mend the log.
func besideAFailure(t *testing.T, engine string, more int, first func(*kv.DB)) (disk *powertest.Disk, db *kv.DB) {
	t.Helper()
	disk = powertest.NewDisk(t, nil)
	path := filepath.Join(disk.Dir(), "db")
	db = open(t, engine, path, "")
	other := open(t, engine, path, "")
	put(t, db, "a", "1")
	first(db)
	disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Again: more, Err: syscall.EIO, Match: "*-wal"})
	wantKind(t, "a synced commit", other.Put(t.Context(), kv.Synced, []byte("b"), []byte("2")), kv.InDoubt)
	return disk, db
}

// A connection that a snapshot makes necessary opens the log behind the failure, of which Linux
// tells those who had it open.
func aFailedSyncIsToldToConnectionsThatComeLater(t *testing.T, engine string) {
	disk, db := besideAFailure(t, engine, 1, func(db *kv.DB) {
		s := snapshot(t, db)
		t.Cleanup(func() { s.Close() })
	})
	if err := db.Put(t.Context(), kv.Synced, []byte("c"), []byte("3")); err != nil {
		t.Fatal(err)
	}
	if got := all(t, afterCut(t, disk, engine), kv.Range{}); !strings.HasSuffix(got, "c=3") {
		t.Errorf("a synced commit is lost behind a hole of the log: got %q", got)
	}
}

// Whoever failed may have mended the log, or not.
func aFailedSyncIsToldToWhoOnlyCovers(t *testing.T, engine string) {
	for more := range 2 {
		disk, db := besideAFailure(t, engine, more, func(*kv.DB) {})
		err := db.Put(t.Context(), kv.Synced, []byte("a"), []byte("1")) // as it is: no page changes
		if err != nil {
			t.Errorf("it can be written once more: got %v", err)
		}
		if got := all(t, afterCut(t, disk, engine), kv.Range{}); !strings.HasPrefix(got, "a=1") {
			t.Errorf("a synced commit covered what is lost: got %q", got)
		}
	}
}

func snapshot(t *testing.T, db *kv.DB) *kv.Snapshot {
	t.Helper()
	s, err := db.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The connection that is closed last copies the log, and may have been opened behind the failure.
func whoOnlyReadsCopiesNothingBehindAFailedSync(t *testing.T, engine string) {
	for _, writes := range []bool{false, true} {
		disk := powertest.NewDisk(t, nil)
		path := twoLeaves(t, disk, engine)
		db, other := open(t, engine, path, ""), open(t, engine, path, "")
		if writes {
			put(t, db, "c", "1")
		}
		holeBehind(t, other, "z", func() {
			failSync(disk, 1)
			failSync(disk, 2)
		})
		closeDB(t, other)
		s1, s2 := snapshot(t, db), snapshot(t, db)
		for _, s := range []*kv.Snapshot{s1, s2} {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		disk.Arm(powerfs.Fault{Op: powerfs.OnWrite, Nth: 2, Err: syscall.EIO, Match: "db"})
		_ = db.Close() // the copying may fail
		for seed := range uint64(20) {
			disk.Rule, disk.Seed = powerfs.Rule{Survivors: powerfs.Pages}, seed
			wantWhole(t, "amid the copying", disk, engine)
		}
	}
}

// The disk hangs until the time of a Compact is up, and fails then.
func aFailedSyncOfCompactIsMendedWhateverEndedIt(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	path := filepath.Join(disk.Dir(), "db")
	put(t, open(t, engine, path, ""), "a", "1") // beside which a log is in doubt
	short, cancel := context.WithCancel(t.Context())
	failed, after := false, 0
	d, _ := driver.Lookup(engine)
	asks := func(_ time.Duration, err error) {
		if failed {
			after++
		}
		if err != nil {
			failed = true
			cancel()
		}
	}
	store, err := d.Open(t.Context(), driver.Config{Path: path, Mode: driver.Shared, OnSync: asks})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 2, Err: syscall.EIO, Match: "*-wal"})
	if err := store.(driver.Compacter).Compact(short); err == nil || !failed {
		t.Fatalf("compact: got %v, a sync failed: %v", err, failed)
	}
	tx, err := store.Begin(t.Context(), driver.Flushed)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	if after == 0 {
		t.Error("nobody has mended the log before the next commit")
	}
}

// A checkpoint that a reader keeps from the end of the log counts what it has copied, and does not
// sync it. If the sync of the next one fails, connections that had the database open are told.
func aConnectionThatComesLateCopiesTheLogFromItsBeginning(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	path := twoLeaves(t, disk, engine)
	db, other := open(t, engine, path, "?wal_autocheckpoint=1"), open(t, engine, path, "")
	synced := func(db *kv.DB, key, value string) {
		t.Helper()
		if err := db.Put(t.Context(), kv.Synced, []byte(key), []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	checkpoint := func() error { return other.Driver().(*sqlite.Store).Writer().Exec("PRAGMA wal_checkpoint") }
	synced(other, "a", "1")
	s := snapshot(t, db)
	synced(other, "z", "1")
	if err := checkpoint(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Err: syscall.EIO, Match: "db"})
	if err := checkpoint(); err == nil { // as of a process that dies of it
		t.Fatal("the sync of the database did not fail")
	}
	s = snapshot(t, db)
	synced(db, "za", "1") // by a connection of its own
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	synced(db, "zb", "1") // and all is copied
	synced(db, "zc", "1") // with which the log begins anew
	left := afterCut(t, disk, engine)
	if a, z := get(t, left, "a"), get(t, left, "z"); a != "1" || z != "1" {
		t.Errorf("a is %s and z is %s, want 1: a synced commit is lost", a, z)
	}
}

// A handle keeps a file of the log open, by which it is told of failures: that must stay the log.
func theLogStaysWhenTheOnlyConnectionGoes(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	db := open(t, engine, filepath.Join(disk.Dir(), "db"), "")
	put(t, db, "a", "1")
	if err := db.Driver().(*sqlite.Store).DropWriter(); err != nil {
		t.Fatal(err)
	}
	put(t, db, "a", "2")
	if err := db.Put(t.Context(), kv.Synced, []byte("a"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	if got := all(t, afterCut(t, disk, engine), kv.Range{}); got != "a=2" {
		t.Errorf("a synced commit covered another file: got %q", got)
	}
}

// The first commit of a store may be that which makes its table in a database of a program. What
// others have left to its sync is not lost with it.
func TestWhatMadeATableIsMendedIfItsSyncFailed(t *testing.T) {
	eachWrapper(t, func(t *testing.T, w wrapper) {
		disk := powertest.NewDisk(t, nil)
		h := w.program(t, filepath.Join(disk.Dir(), "db"))
		run(t, h, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; UPDATE notes SET note = 'two'")
		disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Err: syscall.EIO, Match: "*-wal"})
		if _, err := w.wrap(h); err == nil || disk.Failed() != 1 {
			t.Fatalf("got %v, %d syncs failed", err, disk.Failed())
		}
		left, err := sql.Open(w.pool, filepath.Join(disk.Cut(t), "db"))
		if err != nil {
			t.Fatal(err)
		}
		defer left.Close()
		if got := one(t, left, "SELECT note FROM notes"); got != "two" {
			t.Errorf("the program's note is %q: what it had left to that sync is lost", got)
		}
	})
}
