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

// openFile opens or creates a data file, without waiting for its lock.
func openFile(path string, o *options) (*file, error) {
	if o.bolt.NoFreelistSync && !o.bolt.ReadOnly {
		if err := survey(path, *o); err != nil && driver.KindOf(err) != driver.NoStore {
			return nil, err
		}
	}
	f := &file{mapped: o.bolt.InitialMmapSize}
	f.users.Store(1)
	if f.reserved = f.mapped == 0 && o.bolt.MaxSize == 0; f.reserved {
		f.mapped = addresses
	}
	err := f.open(path, o.bolt)
	if f.reserved && errors.Is(err, syscall.ENOMEM) { // this process may not have so many addresses
		f.reserved, f.mapped = false, 0
		err = f.open(path, o.bolt)
	}
	if err != nil {
		return nil, classifyOpen(err, path, o)
	}
	f.db.AllocSize, f.pageSize = o.allocSize, f.db.Info().PageSize
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
	given := o
	o.InitialMmapSize = f.mapped
	o.OpenFile = func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
		f.os, err = openOrCreate(name, flag, mode, given)
		return f.os, err
	}
	f.db, err = bolt.Open(path, 0o600, &o)
	return err
}

// openOrCreate is bbolt's Options.OpenFile. It creates the file and its missing parent folders if
// flag has os.O_CREATE.
func openOrCreate(name string, flag int, mode os.FileMode, o bolt.Options) (*os.File, error) {
	open := o.OpenFile
	if open == nil {
		open = openFileOS
	}
	f, err := open(name, flag&^os.O_CREATE, 0)
	if flag&os.O_CREATE == 0 || !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err = driver.MakeDirs(filepath.Dir(name)); err == nil {
		err = create(name, mode, o)
	}
	if err != nil {
		return nil, err
	}
	return open(name, flag, mode)
}

// create makes an empty store at name, unless something is there by then. bbolt writes and syncs
// its first pages in a file beside it, which is then linked to the name: a crash or a full disk
// amid them would leave a file that cannot be told from a damaged store. Where links are not
// supported, it leaves creation to bbolt.
func create(name string, mode os.FileMode, o bolt.Options) error {
	fresh, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name())
	o.NoSync = false
	db, err := bolt.Open(fresh.Name(), mode, &o)
	if err == nil {
		err = db.Close()
	}
	if err = errors.Join(err, fresh.Close()); err == nil {
		err = os.Link(fresh.Name(), name)
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
