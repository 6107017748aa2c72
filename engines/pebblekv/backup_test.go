package pebblekv_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/assaydb/assay/engines/pebblekv"
	"github.com/assaydb/assay/kv"
)

// noLogs is a disk that has no space for another log.
type noLogs struct{ vfs.FS }

func (fs noLogs) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, ".log") {
		return nil, syscall.ENOSPC
	}
	return fs.FS.Create(name, category)
}

// leaveNoLog makes a store that was opened last by somebody who could make no log.
func leaveNoLog(t *testing.T, path string) {
	t.Helper()
	db := open(t, "pebble:"+path)
	put(t, db, kv.Synced, 10)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	o := &pebble.Options{FS: noLogs{vfs.Default}, FormatMajorVersion: pebble.FormatNewest}
	if db, err := pebble.Open(path, o); err == nil {
		t.Fatal("opened without a log:", db.Close())
	}
}

// Who opens a store puts the log into tables, and then makes a new one. If it cannot, the next
// opening finds no log, and Pebble's checkpoints have no manifest until a table is written.
func TestABackupBehindAnOpeningThatMadeNoLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	leaveNoLog(t, path)
	db := open(t, "pebble:"+path)
	for range 2 {
		backup := filepath.Join(dir, "backup")
		if err := db.Backup(t.Context(), backup); err != nil {
			t.Fatal(err)
		}
		copied := open(t, "pebble:"+backup)
		if err := copied.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if n := count(t, copied); n != count(t, db) {
			t.Errorf("the backup has %d pairs, the store %d", n, count(t, db))
		}
		if err := copied.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(backup); err != nil {
			t.Fatal(err)
		}
		put(t, db, kv.Synced, 20) // in no table yet
	}
}

// Of a database that the program has opened nobody knows where it lies. A checkpoint that would not
// open is refused.
func TestABackupOfSomebodyElsesDatabaseThatMadeNoLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	leaveNoLog(t, path)
	own, err := pebble.Open(path, &pebble.Options{FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	db, err := pebblekv.Wrap(own)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	backup := filepath.Join(t.TempDir(), "backup")
	if err := db.Backup(t.Context(), backup); kv.KindOf(err) != kv.Unsupported || kv.HintOf(err) == "" {
		t.Errorf("a backup without a manifest: %v", err)
	}
	if _, err := os.Lstat(backup); err == nil {
		t.Error("it is there")
	}
	put(t, db, kv.Synced, 1)
	if err := errors.Join(db.Compact(t.Context()), db.Backup(t.Context(), backup)); err != nil {
		t.Errorf("as the hint says: %v", err)
	}
	if n := count(t, open(t, "pebble:"+backup)); n != 10 {
		t.Errorf("the backup has %d pairs", n)
	}
}
