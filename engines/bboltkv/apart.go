package bboltkv

import (
	"context"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// bbolt enlarges its memory map within a commit, and waits for all read transactions then. Meanwhile a read transaction
// that begins waits with a lock that those which end want too: what one goroutine does in order, closing one snapshot
// after another, could wait for itself. So while such a commit runs, and always on a DB that the program uses too,
// transactions begin and end in goroutines of their own.

// patience is how long a call waits within bbolt for what may never come.
var patience = 10 * time.Second

var errImpatient = errors.New("bbolt waits for transactions that are open")

// apart runs call in a goroutine. It returns what call does, or, when ctx or patience ends first, why it did not wait;
// then late gets what call returns.
func (s *store) apart(ctx context.Context, call func() error, late func(error)) error {
	done := make(chan error, 1)
	s.strays.Go(func() { done <- call() })
	timer := time.NewTimer(patience)
	defer timer.Stop()
	err := errImpatient
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
	}
	s.strays.Go(func() { late(<-done) })
	return err
}

// beginApart is begin of f, one of whose users it ends if it fails.
func (s *store) beginApart(ctx context.Context, f *file, writable bool) (*bolt.Tx, *bolt.Bucket, error) {
	var tx *bolt.Tx
	var b *bolt.Bucket
	err := s.apart(ctx, func() (err error) {
		if tx, b, err = f.begin(s.options, writable); err != nil {
			return errors.Join(err, f.release())
		}
		return nil
	}, func(err error) {
		if err == nil {
			_ = f.end(tx)
		}
	})
	switch {
	case err == errImpatient:
		return nil, nil, &driver.Error{Kind: driver.Busy, Err: err, Hint: "close snapshots and transactions that are open"}
	case err != nil:
		return nil, nil, err
	}
	return tx, b, nil
}

// tight reports whether a commit of tx, in which so many bytes were written, may enlarge the memory map. At worst it
// rewrites every page, filled to a tenth, and twice that for pages that overflow.
func (f *file) tight(tx *bolt.Tx, written int64) bool {
	return 32*(tx.Size()+written) >= int64(f.mapped)
}

// commitApart commits tx, and ends its use of f.
func (s *store) commitApart(f *file, tx *bolt.Tx) error {
	s.setGrowing(true)
	err := s.apart(context.Background(), func() error {
		err := f.commit(tx)
		s.setGrowing(false)
		return errors.Join(err, f.release())
	}, func(error) {})
	if err == errImpatient {
		return &driver.Error{Kind: driver.InDoubt, Err: fmt.Errorf("%w, to enlarge its memory map", err),
			Hint: "close snapshots earlier, or open the store with an InitialMmapSize above the size that the file will have"}
	}
	return err
}

func (s *store) setGrowing(growing bool) {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.growing = growing || s.file.wrapped
}
