// Package levelkv is the engine "leveldb": goleveldb, LevelDB written in Go, a log-structured merge tree in a folder.
//
// A write goes to a log, which goleveldb calls the journal, and to a table in memory; tables are written out sorted and
// merged in the background.
//
// Durability: Synced commits wait for the journal's fsync and share it when several run at once. A commit without it is
// one write call, so that the kernel has it when the commit returns: that is Flushed. Buffered delivers Flushed. After
// a power loss Flushed commits may be missing in the middle: goleveldb does not sync a journal when it begins the
// next one, and on opening it skips what is damaged in a journal and replays what follows. A commit larger than WriteBuffer goes into
// tables at once and is synced. The package adds one sync that
// goleveldb lacks when it opens a store: see files.
//
// Failing disks: after a write or sync that failed, what the journal holds at its end is not known, and a later record
// in the same 32 KiB could be skipped together with it on opening. Therefore the store writes nothing more after the first
// failure; reads go on, and opening the store again brings back all that was acknowledged. See files.
//
// Locks: one process alone may write (Exclusive); several may read (ReadOnly), each with the journal's records in its
// own memory.
package levelkv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens LevelDB stores. The zero value is ready to use.
type Driver struct{}

var _ driver.Driver = Driver{}

// Info describes the engine.
func (Driver) Info() driver.Info {
	return driver.Info{
		Name:    "leveldb",
		Summary: "log-structured merge tree in a folder, one writing process (goleveldb, LevelDB in Go)",
		Modules: []string{"github.com/syndtr/goleveldb"},
		Options: options,
		Caps:    capabilities(false),
	}
}

// capabilities tells what a store can do; with noSync nothing is ever synced.
func capabilities(noSync bool) driver.Caps {
	flushed := driver.Promise{Supported: true, Class: driver.Flushed, KillAtomic: true}
	caps := driver.Caps{
		PureGo:     true,
		Persistent: true,
		Folder:     true,
		Modes:      []driver.Mode{driver.Exclusive, driver.ReadOnly},
		Promises: [3]driver.Promise{
			driver.Synced:   {Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true},
			driver.Flushed:  flushed,
			driver.Buffered: flushed,
		},
		ConcurrentApply: true,
		Compression:     []string{"none", "snappy"},
		Compacts:        true,
		Checks:          true,
	}
	if noSync {
		caps.Promises[driver.Synced] = driver.Promise{}
	}
	return caps
}

// Open opens the store in the folder c.Path.
func (Driver) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	o, err := parse(c.Params)
	if err != nil {
		return nil, err
	}
	o.ReadOnly = c.Mode == driver.ReadOnly
	if err := prepare(c.Path, o.ReadOnly); err != nil {
		return nil, err
	}
	disk, err := storage.OpenFile(c.Path, o.ReadOnly)
	if err != nil {
		return nil, lockFailure(err)
	}
	return open(disk, c.Path, o)
}

// open opens the store in files of the caller's choice, whose lock is held.
func open(disk storage.Storage, path string, o *settings) (*store, error) {
	disk = &files{Storage: disk, noSync: o.NoSync}
	db, err := openLocked(disk, path, o)
	if err != nil {
		return nil, errors.Join(err, disk.Close())
	}
	return &store{db: db, files: disk, path: path, o: o, caps: capabilities(o.NoSync)}, nil
}

// prepare makes the folder, for this user only.
func prepare(path string, readOnly bool) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return &driver.Error{Op: "open", Kind: driver.Corrupt, Err: fmt.Errorf("%s is a file", path),
			Hint: "leveldb keeps a store in a folder: name a folder"}
	case readOnly:
		return err
	}
	return driver.MakeDirs(path)
}

// lockFailure makes Busy of the error for a folder that someone has open.
func lockFailure(err error) error {
	// The bare numbers are those of the lock call itself; on Windows it is opening the lock's file that fails.
	var wrapped *os.PathError
	var number syscall.Errno
	if errors.As(err, &number) && (!errors.As(err, &wrapped) && number == syscall.EAGAIN ||
		runtime.GOOS == "windows" && number == errSharingViolation) {
		return &driver.Error{Op: "open", Kind: driver.Busy, Err: err, Hint: "close the other handle first"}
	}
	return err
}

// errSharingViolation is ERROR_SHARING_VIOLATION of the Windows API.
const errSharingViolation = syscall.Errno(32)

// openLocked opens the folder whose lock is held. A folder that holds data and lost CURRENT, or the manifest that it
// names, is refused, never begun anew.
func openLocked(disk storage.Storage, path string, o *settings) (db *leveldb.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, &driver.Error{Op: "open", Kind: driver.Corrupt, Err: fmt.Errorf("goleveldb panics: %v", r)}
		}
	}()
	data, err := disk.List(storage.TypeJournal | storage.TypeTable)
	if err != nil {
		return nil, err
	}
	o.ErrorIfMissing = len(data) > 0
	if len(data) == 0 && !o.ReadOnly {
		if err := removeUnborn(disk, path); err != nil {
			return nil, err
		}
	}
	db, err = leveldb.Open(disk, &o.Options)
	return db, classify(err)
}

// removeUnborn removes what a process that died while it created a store left: a manifest that CURRENT does not name yet.
// goleveldb would refuse the folder for ever. There is no data: the first journal is created after CURRENT.
func removeUnborn(disk storage.Storage, path string) error {
	if _, err := os.Stat(filepath.Join(path, "CURRENT")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	manifests, err := disk.List(storage.TypeManifest)
	if err != nil {
		return err
	}
	for _, fd := range manifests {
		if err := disk.Remove(fd); err != nil {
			return err
		}
	}
	names, err := os.ReadDir(path)
	for _, n := range names {
		// The next CURRENT is written under such a name and renamed.
		if number, ok := strings.CutPrefix(n.Name(), "CURRENT."); ok && strings.Trim(number, "0123456789") == "" {
			err = errors.Join(err, os.Remove(filepath.Join(path, n.Name())))
		}
	}
	return err
}
