package bboltkv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// bucketName is the bucket that holds all pairs. The first commit creates it.
var bucketName = []byte("kv")

// store is an open store. Compact replaces the file under it, while snapshots of the old file go on.
type store struct {
	path    string
	options *options
	file    atomic.Pointer[file]
}

var _ driver.Store = (*store)(nil)

func newStore(path string, o *options, f *file) *store {
	s := &store{path: path, options: o}
	s.file.Store(f)
	return s
}

// Readers and transactions of all stores: a pool for each store would cost a short-lived one more than it saves.
var (
	readers = sync.Pool{New: func() any { return new(reader) }}
	txns    = sync.Pool{New: func() any { return new(txn) }}
)

func (s *store) Caps() driver.Caps { return s.options.caps }

func (s *store) Settings() []driver.Setting { return s.options.settings(s.file.Load().db) }

func (s *store) Files() ([]string, error) { return []string{s.path}, nil }

// Snapshot begins a read transaction, which pins the state.
func (s *store) Snapshot(context.Context) (driver.Reader, error) {
	r := readers.Get().(*reader)
	if err := r.begin(s, readOnly); err != nil {
		return nil, err
	}
	return r, nil
}

// acquire returns the current file, which stays open until release even if Compact replaces it meanwhile.
func (s *store) acquire() (*file, error) {
	for {
		f := s.file.Load()
		if f.broken.Load() {
			return nil, corrupt("an earlier operation met a damaged page")
		}
		if f.acquire() {
			return f, nil
		}
	}
}

// Close closes the file. As with bbolt itself, it syncs nothing: what Flushed commits wrote is the kernel's to keep.
func (s *store) Close() error { return s.file.Load().release() }

// file is one opening of a data file. Its last user closes it.
type file struct {
	db      *bolt.DB
	os      *os.File
	options bolt.Options // that bbolt was given
	users   atomic.Int64 // transactions, and 1 for the store
	broken  atomic.Bool  // bbolt panicked while it held its locks: no method of db may be called again

	// first is the read transaction that verified the file. It serves the first snapshot; the first writer ends it.
	first atomic.Pointer[bolt.Tx]
}

// begin begins a transaction.
func (f *file) begin(writable bool) (*bolt.Tx, error) {
	if f.first.Load() != nil {
		if writable {
			f.endFirst()
		} else if tx := f.first.Swap(nil); tx != nil {
			return tx, nil
		}
	}
	return f.db.Begin(writable)
}

// endFirst ends the first transaction if nobody got it: it would keep a writer from enlarging the memory map.
func (f *file) endFirst() {
	if tx := f.first.Swap(nil); tx != nil {
		tx.Rollback() // fails only after an end
	}
}

func (f *file) acquire() bool {
	for {
		n := f.users.Load()
		if n == 0 {
			return false
		}
		if f.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (f *file) release() error {
	switch {
	case f.users.Add(-1) > 0:
		return nil
	case f.broken.Load():
		return f.abandon() // bbolt's own Close would wait for its locks forever
	}
	f.endFirst()
	return f.db.Close()
}

// abandon lets go of a file in which bbolt panicked. Its memory map stays until the process ends.
func (f *file) abandon() error {
	if f.os == nil {
		return nil
	}
	return errors.Join(unlock(f.os), f.os.Close())
}

// recovered is recovered for calls in which bbolt holds its locks.
func (f *file) recovered(err *error, old bool) {
	if p := restore(old, recover()); p != nil {
		f.broken.Store(true)
		*err = corrupt(p)
	}
}

// openFile opens or creates a data file, without waiting for its lock.
func openFile(path string, o *options) (_ *file, err error) {
	if o.bolt.NoFreelistSync && !o.bolt.ReadOnly && !isEmpty(path) {
		if err := survey(path, o); err != nil {
			return nil, err
		}
	}
	f := new(file)
	f.users.Store(1)
	defer func(old bool) {
		if p := restore(old, recover()); p != nil {
			err = errors.Join(corrupt(p), f.abandon())
		}
	}(protect())
	f.options = o.bolt
	f.options.OpenFile = f.openOrCreate
	if f.db, err = bolt.Open(path, 0o600, &f.options); err != nil {
		if o.bolt.ReadOnly && !errors.Is(err, fs.ErrNotExist) && isEmpty(path) {
			return nil, &driver.Error{Kind: driver.NoStore, Err: fmt.Errorf("%s is empty", path),
				Hint: "open it once without mode=ro"}
		}
		return nil, classifyOpen(err)
	}
	if o.allocSize > 0 {
		f.db.AllocSize = o.allocSize
	}
	f.db.StrictMode = o.strictMode
	if err := f.verify(path); err != nil {
		return nil, errors.Join(err, f.release())
	}
	return f, nil
}

// openOrCreate is bbolt's Options.OpenFile. It creates the file and its missing parent folders if flag has os.O_CREATE.
func (f *file) openOrCreate(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
	f.os, err = openFileOS(name, flag&^os.O_CREATE, 0)
	if flag&os.O_CREATE == 0 || !errors.Is(err, fs.ErrNotExist) {
		return f.os, err
	}
	if err := driver.MakeDirs(filepath.Dir(name)); err != nil {
		return nil, err
	}
	if err := create(name, mode, f.options); err != nil {
		return nil, err
	}
	f.os, err = openFileOS(name, flag, mode)
	return f.os, err
}

// create makes an empty store at name, unless something is there by then. bbolt writes and syncs its first pages in a
// file beside it, which is then linked to the name: a crash or a full disk amid them would leave a file that cannot be
// told from a damaged store. Where links are not supported, it leaves creation to bbolt.
func create(name string, mode os.FileMode, o bolt.Options) error {
	fresh, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name())
	if err := fresh.Close(); err != nil {
		return err
	}
	o.OpenFile, o.NoSync = nil, false
	db, err := bolt.Open(fresh.Name(), mode, &o)
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	err = os.Link(fresh.Name(), name)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

func isEmpty(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

// survey reads all pages of a file that keeps no free list. Opening it for writing does that too, but in a goroutine of
// bbolt's, where nobody could catch the panic over a damaged page.
func survey(path string, o *options) error {
	ro := *o
	ro.bolt.ReadOnly, ro.bolt.PreLoadFreelist = true, false
	f, err := openFile(path, &ro)
	if err != nil {
		return err
	}
	s := newStore(path, &ro, f)
	return errors.Join(s.walk(context.Background()), s.Close())
}

// verify returns Busy if path names another file by now: the lock was got on a file that a compaction replaced.
// It returns Corrupt if the file is shorter than its header says, where bbolt would fault on a missing page.
func (f *file) verify(path string) error {
	size, same, err := identify(f.os, path)
	if err != nil {
		return err
	}
	if !same {
		return &driver.Error{Kind: driver.Busy, Err: errors.New("the file was replaced while it was opened")}
	}
	tx, err := f.db.Begin(readOnly)
	if err != nil {
		return classify(err)
	}
	f.first.Store(tx)
	if tx.Size() > size {
		return corrupt(fmt.Sprintf("the file has %d bytes, its header says %d", size, tx.Size()))
	}
	return nil
}

// Begin begins a write transaction. It waits for nobody but a running Check.
func (s *store) Begin(_ context.Context, d driver.Durability) (driver.Txn, error) {
	t, err := s.beginTxn(d)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (s *store) beginTxn(d driver.Durability) (*txn, error) {
	t := txns.Get().(*txn)
	t.durability = d
	if err := t.begin(s, readWrite); err != nil {
		return nil, err
	}
	if err := t.createBucket(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Apply commits ops. bbolt keeps a value until the commit has ended, which is within Apply: nothing is copied.
func (s *store) Apply(_ context.Context, ops []driver.Op, d driver.Durability) error {
	t, err := s.beginTxn(d)
	if err != nil {
		return err
	}
	if err = t.apply(ops); err == nil {
		err = t.Commit()
	}
	return errors.Join(err, t.Close())
}
