package bboltkv

import (
	"context"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// bbolt enlarges its memory map within a commit, and waits for all read transactions then.
// Meanwhile a read transaction that begins waits with a lock that those which end want too: a
// goroutine that closes one snapshot after another could wait for itself. So while such a commit
// runs, and always on a DB that is the program's, transactions begin and end in goroutines of their
// own.

// patience is how long a call waits within bbolt for what may never come.
var patience = 10 * time.Second

var errImpatient = errors.New("bbolt waits for transactions that are open")

// apart runs call in a goroutine and returns what it does, or, when ctx or patience ends first, why
// it did not wait. What call does without an error after that is undone.
func (s *store) apart(ctx context.Context, call func() error, undo func()) error {
	done, gone := make(chan error), make(chan struct{})
	s.strays.Go(func() {
		err := call()
		select {
		case done <- err:
		case <-gone:
			if err == nil {
				undo()
			}
		}
	})
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		close(gone)
		return ctx.Err()
	case <-timer.C:
		close(gone)
		return errImpatient
	}
}

// beginApart is begin of f, one of whose users it ends if it fails.
func (s *store) beginApart(ctx context.Context, f *file, writable bool) (*bolt.Tx, *bolt.Bucket, error) {
	var tx *bolt.Tx
	var b *bolt.Bucket
	err := s.apart(ctx, func() (err error) {
		if tx, b, err = f.begin(s.options, writable); err != nil {
			err = errors.Join(err, f.release())
		}
		return err
	}, func() { _ = f.end(tx) })
	if err == errImpatient {
		err = &driver.Error{Kind: driver.Busy, Err: err, Hint: "close snapshots and transactions that are open"}
	}
	if err != nil {
		return nil, nil, err
	}
	return tx, b, nil
}

// tight reports whether a commit of tx, in which so many bytes were written, may enlarge the memory
// map. At worst it rewrites every page, filled to a tenth, and twice that for pages that overflow.
func (f *file) tight(tx *bolt.Tx, written int64) bool {
	return 32*(tx.Size()+written) >= int64(f.mapped)
}

// commitApart commits tx, and ends its use of f.
func (s *store) commitApart(f *file, tx *bolt.Tx) error {
	s.setGrowing(true)
	err := s.apart(context.Background(), func() error {
		err := f.commit(tx)
		s.setGrowing(f.wrapped)
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
	s.growing = growing
}
