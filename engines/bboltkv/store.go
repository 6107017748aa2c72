package bboltkv

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open store. Compact replaces the file under it, while snapshots of the old file go
// on.
type store struct {
	path    string
	options *options
	caps    driver.Caps
	failure driver.Failure // of a compaction

	gate    sync.RWMutex   // shared by readers while they begin or end
	file    *file          // under gate
	growing bool           // under gate: a commit runs that may wait for readers, see apart.go
	strays  sync.WaitGroup // goroutines whose calls are over
}

var _ driver.Store = (*store)(nil)

func (s *store) Caps() driver.Caps { return s.caps }

// Snapshot begins a read transaction, which pins the state.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	r := new(reader)
	if err := r.begin(ctx, s, readOnly); err != nil {
		return nil, err
	}
	return r, nil
}

// Begin begins a write transaction.
func (s *store) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	if err := s.failure.Err(); err != nil {
		return nil, err
	}
	t := &txn{durability: d}
	if err := t.begin(ctx, s, readWrite); err != nil {
		return nil, err
	}
	if err := t.createBucket(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (s *store) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	t, err := s.Begin(ctx, d)
	if err != nil {
		return err
	}
	for i := range ops {
		if op := &ops[i]; op.Delete {
			err = t.Delete(op.Key)
		} else {
			err = t.Put(op.Key, op.Value)
		}
		if err != nil {
			return errors.Join(err, t.Close())
		}
	}
	return errors.Join(t.Commit(), t.Close())
}

// Close closes the file. As with bbolt itself, it syncs nothing: what Flushed commits wrote is the
// kernel's to keep.
func (s *store) Close() error {
	s.strays.Wait()
	return s.file.release()
}

// file is one opening of a data file. Its last user closes it.
type file struct {
	db       *bolt.DB
	os       *os.File // nil if wrapped
	pageSize int
	mapped   int  // bytes of addresses that are mapped at least; 0 if that is not known
	reserved bool // the driver chose mapped
	wrapped  bool // db is the program's

	users  atomic.Int64 // transactions, and 1 for the store
	broken atomic.Bool  // bbolt panicked while it held its locks: no method of db may be called again
}

// The argument of begin.
const (
	readOnly  = false
	readWrite = true
)

// begin begins a transaction and returns it with the bucket of o, which may be nil.
func (f *file) begin(o *options, writable bool) (tx *bolt.Tx, b *bolt.Bucket, err error) {
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
func (f *file) end(tx *bolt.Tx) error {
	var err error
	if tx.DB() != nil && !f.broken.Load() {
		err = classify(tx.Rollback())
	}
	return errors.Join(err, f.release())
}

func (f *file) release() error {
	switch {
	case f.users.Add(-1) > 0 || f.wrapped:
		return nil
	case f.broken.Load():
		return f.abandon()
	}
	return f.db.Close()
}
