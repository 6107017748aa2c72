package sqlite

import (
	"errors"
	"syscall"
	"testing"

	"github.com/assaydb/assay/kv/driver"
)

func TestPromisesFollowSQLitesDocumentation(t *testing.T) {
	no := driver.Promise{}
	flushed := driver.Promise{Supported: true, Class: driver.Flushed, KillAtomic: true}
	flushedIntact, synced := flushed, driver.Promise{Supported: true, Class: driver.Synced, Intact: true,
		KillAtomic: true, PowerAtomic: true}
	flushedIntact.Intact, flushedIntact.PowerAtomic = true, true
	for _, c := range []struct {
		journal, synchronous string
		want                 [3]driver.Promise
	}{
		{"WAL", "", [3]driver.Promise{synced, flushedIntact, flushedIntact}},
		{"WAL", "OFF", [3]driver.Promise{no, flushed, flushed}},
		{"WAL", "NORMAL", [3]driver.Promise{no, flushedIntact, flushedIntact}},
		{"WAL", "FULL", [3]driver.Promise{synced, synced, synced}},
		{"WAL", "EXTRA", [3]driver.Promise{synced, synced, synced}},
		{"DELETE", "", [3]driver.Promise{synced, flushed, flushed}},
		{"DELETE", "OFF", [3]driver.Promise{no, flushed, flushed}},
		{"DELETE", "NORMAL", [3]driver.Promise{no, flushed, flushed}},
		{"DELETE", "FULL", [3]driver.Promise{no, flushedIntact, flushedIntact}},
		{"DELETE", "EXTRA", [3]driver.Promise{synced, synced, synced}},
	} {
		s := Store{lib: new(Library), journal: c.journal, options: Options{Synchronous: c.synchronous}}
		if got := s.capsNow().Promises; got != c.want {
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
		{Constraint | 5<<8, 0, driver.Invalid},
		{Interrupted, 0, driver.Canceled},
		{CantOpen, syscall.ENOENT, driver.NoStore},
		{CantOpen, syscall.EACCES, driver.Permission},
		{IOErr | 3<<8, syscall.ENOSPC, driver.Full},
		{IOErr | 4<<8, syscall.EIO, driver.Other},
		{sqliteError, syscall.ENOENT, driver.Other},
	} {
		err := NewError(c.rc, "text", c.errno)
		if driver.KindOf(err) != c.want {
			t.Errorf("%d, %v: got %v, want %v", c.rc, c.errno, driver.KindOf(err), c.want)
		}
		if c.errno != 0 && c.rc != sqliteError && !errors.Is(err, c.errno) {
			t.Errorf("%d: %v does not wrap %v", c.rc, err, c.errno)
		}
	}
}
