package bboltkv

import (
	"errors"
	"os"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// file is one opening of a data file. Its last user closes it: Compact puts another one in its
// place while snapshots go on.
type file struct {
	db     *bolt.DB
	os     *os.File     // nil if db is the program's
	page   int64        // size of a page
	users  atomic.Int64 // transactions, and 1 for the store
	walks  atomic.Int32 // long ones that go on
	broken atomic.Bool  // bbolt panicked while it held its locks: no method of db may be called again
	stored atomic.Bool  // the page that names all others is on the disk as everybody reads it
	// The next sync is for commits that were not synced, too.
	flushed bool
	noted   string // the last note that was read or left
	onSync  driver.OnSync
}

// begin begins a transaction, for a user that was counted, and returns it with the bucket of o,
// which may be nil. If it fails the user is counted no more.
func (f *file) begin(o *options, writable bool) (tx *bolt.Tx, b *bolt.Bucket, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, f.release())
		}
	}()
	if f.broken.Load() {
		return nil, nil, corrupt("an earlier operation met a damaged page")
	}
	defer f.recovered(&err, protect())
	if tx, err = f.db.Begin(writable); err != nil {
		return nil, nil, classify(err)
	}
	return tx, o.find(tx), nil
}

// end rolls tx back, unless a commit has ended it, and releases f.
func (f *file) end(tx *bolt.Tx) (err error) {
	if tx.DB() != nil && !f.broken.Load() {
		err = classify(tx.Rollback())
	}
	return errors.Join(err, f.release())
}

func (f *file) release() error {
	switch {
	case f.users.Add(-1) > 0 || f.os == nil:
		return nil
	case f.broken.Load():
		return f.abandon()
	}
	f.seal()
	return f.db.Close()
}

// wrap makes s a store of h, whose commits may wait for readers at any time.
func (s *store) wrap(h *bolt.DB) {
	o := s.options
	o.FreelistType, o.MaxSize, o.NoFreelistSync, o.NoSync = h.FreelistType, h.MaxSize, h.NoFreelistSync, h.NoSync
	o.PageSize = h.Info().PageSize
	if s.caps.Compacts = false; !h.NoSync {
		s.caps.Promises = [3]driver.Promise{synced, synced, synced}
	}
	s.file = &file{db: h, onSync: o.onSync}
	s.growing.Store(true)
	s.file.users.Store(1)
}
