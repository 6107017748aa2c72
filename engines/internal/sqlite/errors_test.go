package sqlite

import (
	"errors"
	"syscall"
	"testing"

	"github.com/assaydb/assay/kv/driver"
)

func TestPromisesFollowSQLitesDocumentation(t *testing.T) {
	no := driver.Promise{}
	flushed, flushedIntact := driver.Promise{Supported: true, Class: driver.Flushed}, driver.Promise{Supported: true, Class: driver.Flushed, Intact: true}
	synced := driver.Promise{Supported: true, Class: driver.Synced, Intact: true}
	for _, c := range []struct {
		journal, synchronous string
		want                 [3]driver.Promise
	}{
		{journalWAL, "", [3]driver.Promise{synced, flushedIntact, flushedIntact}},
		{journalWAL, "OFF", [3]driver.Promise{no, flushed, flushed}},
		{journalWAL, "NORMAL", [3]driver.Promise{no, flushedIntact, flushedIntact}},
		{journalWAL, "FULL", [3]driver.Promise{synced, synced, synced}},
		{journalWAL, "EXTRA", [3]driver.Promise{synced, synced, synced}},
		{journalDelete, "", [3]driver.Promise{synced, flushed, flushed}},
		{journalDelete, "OFF", [3]driver.Promise{no, flushed, flushed}},
		{journalDelete, "NORMAL", [3]driver.Promise{no, flushed, flushed}},
		{journalDelete, "FULL", [3]driver.Promise{no, flushedIntact, flushedIntact}},
		{journalDelete, "EXTRA", [3]driver.Promise{synced, synced, synced}},
	} {
		if got := new(Library).capsOf(c.journal, c.synchronous).Promises; got != c.want {
			t.Errorf("%s %q:\n got %+v\nwant %+v", c.journal, c.synchronous, got, c.want)
		}
	}
}

func TestEveryResultCodeHasItsKind(t *testing.T) {
	const sqliteError = 1 // SQLITE_ERROR, which has no part in the code
	for _, c := range []struct {
		rc    int32
		errno syscall.Errno
		want  driver.Kind
	}{
		{Busy, 0, driver.Busy},
		{Busy | 2<<8, 0, driver.Busy},
		{Locked, 0, driver.Busy},
		{Corrupt, 0, driver.Corrupt},
		{NotADB, 0, driver.Corrupt},
		{IOErrCorruptFS, 0, driver.Corrupt},
		{Full, 0, driver.Full},
		{ReadOnly, 0, driver.NotWritable},
		{ReadOnly | 6<<8, 0, driver.NotWritable},
		{Perm, 0, driver.Permission},
		{TooBig, 0, driver.TooLarge},
		{Interrupted, 0, driver.Canceled},
		{CantOpen, syscall.ENOENT, driver.NoStore},
		{CantOpen, syscall.EACCES, driver.Permission},
		{IOErr | 3<<8, syscall.ENOSPC, driver.Full},
		{IOErr | 4<<8, syscall.EIO, driver.Other},
		{sqliteError, syscall.ENOENT, driver.Other},
	} {
		err := NewError(c.rc, "text", SystemError(int32(c.errno)))
		if driver.KindOf(err) != c.want {
			t.Errorf("%d, %v: got %v, want %v", c.rc, c.errno, driver.KindOf(err), c.want)
		}
		if c.errno != 0 && c.rc != sqliteError && !errors.Is(err, c.errno) {
			t.Errorf("%d: %v does not wrap %v", c.rc, err, c.errno)
		}
	}
}
