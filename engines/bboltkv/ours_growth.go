package bboltkv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// bbolt enlarges its memory map within a commit, and waits for all read transactions then.
// Meanwhile a read transaction that begins waits with a lock that those which end want too: a
// goroutine that closes one snapshot after another could wait for itself. So while such a commit
// runs, and always on a DB that is the program's, transactions begin and end in goroutines of their
// own.

// growth is what of a store meets when bbolt's memory map grows.
type growth struct {
	gate    sync.RWMutex   // shared by readers while they begin or end
	file    *file          // under gate
	growing atomic.Bool    // changes under gate: a commit runs that may wait for readers
	strays  sync.WaitGroup // goroutines whose calls are over
}

// patience is how long a call waits within bbolt for what may never come.
var patience = 10 * time.Second

var errImpatient = errors.New("bbolt waits for transactions that are open")

// apart runs call in a goroutine and returns what it does, or, when ctx or patience ends first, why
// it did not wait. What call does without an error after that is undone.
func (s *store) apart(ctx context.Context, call func() error, undo func()) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errImpatient)
	defer cancel()
	done := make(chan error)
	s.strays.Go(func() {
		err := call()
		select {
		case done <- err:
		case <-ctx.Done():
			if err == nil {
				undo()
			}
		}
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		if context.Cause(ctx) == errImpatient {
			return errImpatient
		}
		return ctx.Err()
	}
}

// begin begins a transaction on the current file, and returns it with the store's bucket.
func (s *store) begin(ctx context.Context, writable bool) (*file, *bolt.Tx, *bolt.Bucket, error) {
	s.gate.RLock()
	f := s.file
	f.users.Add(1)
	if !s.growing.Load() {
		tx, b, err := f.begin(s.options, writable)
		s.gate.RUnlock()
		return f, tx, b, err
	}
	s.gate.RUnlock()
	var tx *bolt.Tx
	var b *bolt.Bucket
	err := s.apart(ctx, func() (err error) {
		tx, b, err = f.begin(s.options, writable)
		return err
	}, func() { _ = f.end(tx) })
	if err == errImpatient {
		err = &driver.Error{Kind: driver.Busy, Err: err, Hint: "close snapshots and transactions that are open"}
	}
	if err != nil {
		return nil, nil, nil, err
	}
	return f, tx, b, nil
}

// end ends what begin has begun, unless a goroutine has it.
func (s *store) end(f *file, tx *bolt.Tx) error {
	if tx == nil {
		return nil
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.growing.Load() {
		s.strays.Go(func() { _ = f.end(tx) })
		return nil
	}
	return f.end(tx)
}

// commit commits t. If it says InDoubt the commit goes on.
func (s *store) commit(t *txn) error {
	f, tx := t.file, t.tx
	// At worst a commit rewrites every page, filled to a tenth, and twice that for pages that
	// overflow.
	if 32*(tx.Size()+t.written) < int64(s.options.InitialMmapSize) {
		return f.commit(tx)
	}
	t.tx = nil
	s.setGrowing(true)
	err := s.apart(context.Background(), func() error {
		err := f.commit(tx)
		s.setGrowing(f.os == nil)
		return errors.Join(err, f.release())
	}, func() {})
	if err == errImpatient {
		return &driver.Error{Kind: driver.InDoubt, Err: fmt.Errorf("%w, to enlarge its memory map", err),
			Hint: "close snapshots earlier, or open the store with an InitialMmapSize above the file's size"}
	}
	return err
}

func (s *store) setGrowing(growing bool) {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.growing.Store(growing)
}
