package bboltkv

import (
	"context"
	"sync/atomic"

	"github.com/assaydb/assay/kv/driver"
)

// bbolt takes several times as long to begin and end a read transaction as to read a pair. So the
// one that was closed last is kept, and is the next snapshot, for as long as nothing changes.

// idle is a reader that is kept.
type idle struct {
	reader  atomic.Pointer[reader]
	changes atomic.Int64 // grows when a change begins and when it ends: odd while one runs
}

// take returns the reader that is kept, or nil.
func (i *idle) take() *reader { return i.reader.Swap(nil) }

// keep keeps r, which is closed, and reports whether it did. bbolt has no commit in the background
// that waits for r.
func (s *store) keep(r *reader) bool {
	if r.state%2 != 0 || s.changes.Load() != r.state || s.growing.Load() || !s.reader.CompareAndSwap(nil, r) {
		return false
	}
	// A change that began meanwhile may have looked before.
	return s.changes.Load() == r.state || !s.reader.CompareAndSwap(r, nil)
}

// change stands at the beginning and the end of all that changes the state. It ends the reader that
// is kept: until the end of the change none is.
func (s *store) change() error {
	s.changes.Add(1)
	if r := s.take(); r != nil {
		return r.end()
	}
	return nil
}

// Snapshot begins a read transaction, which pins the state, unless one is kept.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	r := s.take()
	if r != nil && r.state == s.changes.Load() {
		return r, nil
	} else if r != nil { // keep had looked before a change, and kept it behind
		if err := r.end(); err != nil {
			return nil, err
		}
	}
	r = &reader{state: s.changes.Load()}
	if err := r.begin(ctx, s, readOnly); err != nil {
		return nil, err
	}
	return r, nil
}

// Close ends the transaction, unless it is kept.
func (r *reader) Close() error {
	if r.store.keep(r) {
		return nil
	}
	return r.end()
}
