package bboltkv

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// Prompt tells that of a file of at most 1 MB. If the list of free pages is not in the file, bbolt
// reads all of it.
func (Driver) Prompt(c driver.Config) bool {
	info, err := os.Stat(c.Path)
	return err == nil && info.Size() <= 1<<20
}

// openFile opens or creates a data file, without waiting for its lock, and puts what it chose into
// o.
func openFile(path string, o *options) (*file, error) {
	if !o.ReadOnly {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			if err := create(path, o.Options); err != nil {
				return nil, err
			}
		}
	}
	f := &file{onSync: o.onSync}
	f.users.Store(1)
	switch {
	case o.InitialMmapSize != 0 || o.MaxSize != 0:
	case o.ReadOnly:
		o.InitialMmapSize = min(addresses, 64<<20)
	default:
		o.reserved, o.InitialMmapSize = true, addresses
	}
	err := f.open(path, o.Options)
	if o.reserved && errors.Is(err, syscall.ENOMEM) { // this process may not have so many addresses
		o.reserved, o.InitialMmapSize = false, 0
		err = f.open(path, o.Options)
	}
	if err != nil {
		return nil, classifyOpen(err, path, o)
	}
	o.PageSize = f.db.Info().PageSize
	f.page = int64(o.PageSize)
	if err := f.verify(path, o); err != nil {
		return nil, errors.Join(err, f.release())
	}
	return f, nil
}

// open is bbolt's Open.
func (f *file) open(path string, o bolt.Options) (err error) {
	defer func(old bool) {
		debug.SetPanicOnFault(old)
		if p := recover(); p != nil {
			err = errors.Join(corrupt(p), f.abandon())
		}
	}(protect())
	f.os = nil
	o.OpenFile = func(name string, flag int, mode os.FileMode) (*os.File, error) {
		opened, err := openFlat(name, flag, mode)
		if f.os == nil { // bbolt opens others, too, as those of Tx.CopyFile
			f.os = opened
		}
		return opened, err
	}
	f.db, err = bolt.Open(path, 0o600, &o)
	return err
}

// create makes an empty store at path, with its missing parent folders, unless something is there
// by then. bbolt writes and syncs its first pages in a file beside it, which is then linked to the
// name: a crash or a full disk amid them would leave a file that cannot be told from a damaged
// store. Where links are not supported, it leaves creation to bbolt.
func create(path string, o bolt.Options) error {
	dir := filepath.Dir(path)
	if err := driver.MakeDirs(dir); err != nil {
		return err
	}
	fresh, err := os.CreateTemp(dir, "."+filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name())
	o.NoSync = false
	db, err := bolt.Open(fresh.Name(), 0o600, &o)
	if err == nil {
		f := &file{db: db, os: fresh, page: int64(db.Info().PageSize)}
		f.stored.Store(true)
		err = f.release()
	}
	if err = errors.Join(err, fresh.Close()); err == nil {
		err = os.Link(fresh.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// prepare sees to what a commit relies on: the name of a new file, which was not synced with it,
// and a file that grows by its own size, and not by that of the memory map, as bbolt would have it.
func (s *store) prepare(t *txn) error {
	if s.options.reserved {
		t.file.db.AllocSize = int(min(mostAlloc, t.tx.Size()))
	}
	if !t.fresh || s.options.NoSync {
		return nil
	}
	path, err := filepath.EvalSymlinks(s.path)
	if err != nil {
		return err
	}
	return t.file.onSync.Dir(filepath.Dir(path))
}

// mostAlloc is by how much a file grows at most, as bbolt's own do.
const mostAlloc = 16 << 20
