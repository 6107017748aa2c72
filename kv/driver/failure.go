package driver

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// Failure is why a store takes no more commits: the first write or sync of its files that failed,
// in the background of an engine too. What came before is on the disk, what came after would stand
// behind a hole. The zero value is a store that works. Its methods may be called concurrently.
type Failure struct{ first atomic.Pointer[failure] }

type failure struct {
	cause   error
	stopped *Error
}

// Err returns why the store takes no commit, of kind Stopped, or nil.
func (f *Failure) Err() error {
	if e := f.first.Load(); e != nil {
		return e.stopped
	}
	return nil
}

// Cause returns the first error itself, for the commits that met it, or nil.
func (f *Failure) Cause() error {
	if e := f.first.Load(); e != nil {
		return e.cause
	}
	return nil
}

// Stop stops the store because of err, and reports whether it was working until then; the first
// error stays the reason.
func (f *Failure) Stop(err error) bool {
	if kind := KindOf(err); kind != Other {
		err = &Error{Kind: kind, Err: err} // for errors.Is
	}
	hint := "close the store and open it again: what was synced is there"
	if errors.Is(err, Full) || isFull(err) {
		hint = "free some space, then " + hint
	}
	stopped := &Error{Kind: Stopped, Err: fmt.Errorf("no more commits after a failed one: %v", err), Hint: hint}
	return f.first.CompareAndSwap(nil, &failure{err, stopped})
}
