package kv

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"
)

// A program that writes within the function of an Update, to the same store and not by the
// transaction, waits for a turn that it has itself. Nothing in Go tells which goroutine has the
// turn, but a goroutine can see on its own stack within how many functions of Updates it is. If no
// others are running in the process, the one that has the turn is among these. As the others end by
// themselves, and this one does not, that moment comes.

// updating counts the functions of Updates that are running, of all stores.
var updating atomic.Int64

// within is what turns know of the function that runs in the turn of its Update.
type within struct {
	calls atomic.Uint64 // grows when such a function begins and when it ends: odd while it runs
}

// run runs the function of an Update that has the turn. While calls is odd, updating counts it.
//
//go:noinline
func (w *within) run(fn func(*Tx) error, tx *Tx) error {
	updating.Add(1)
	w.calls.Add(1)
	defer func() {
		w.calls.Add(1)
		updating.Add(-1)
	}()
	return fn(tx)
}

// runs is where run goes on after the function, as it stands on the stack.
var runs = func() uintptr {
	var pc [1]uintptr
	_ = new(within).run(func(*Tx) error { runtime.Callers(2, pc[:]); return nil }, nil)
	return pc[0]
}()

// functions returns within how many functions of Updates the caller is.
func functions() (n int64) {
	var pcs [64]uintptr
	for skip := 2; ; skip += len(pcs) {
		found := runtime.Callers(skip, pcs[:])
		for _, pc := range pcs[:found] {
			if pc == runs {
				n++
			}
		}
		if found < len(pcs) {
			return n
		}
	}
}

// suspects returns within how many functions of Updates the caller is, if one runs in the turn that
// it is about to wait for: that may be one of these.
func (w *within) suspects() int64 {
	if w.calls.Load()%2 == 0 {
		return 0
	}
	return functions()
}

// convicts reports whether the function that runs in the turn is one of n that the caller is
// within. That it is not, may only be unknown.
func (w *within) convicts(n int64) bool {
	calls := w.calls.Load()
	return calls%2 == 1 && updating.Load() == n && w.calls.Load() == calls
}

var errWithin = errors.New("the function of an Update writes to its store, and not by its transaction")

// lookEvery is how often one who waits looks whether it waits for itself.
const lookEvery = time.Millisecond

// watch returns a context that ends, with errWithin as the cause, once it is certain that the
// caller, who is within n functions of Updates, waits for itself.
func (w *within) watch(ctx context.Context, n int64) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var look func()
	look = func() {
		switch {
		case ctx.Err() != nil:
		case w.convicts(n):
			cancel(errWithin)
		default:
			time.AfterFunc(lookEvery, look)
		}
	}
	look()
	return ctx, cancel
}

// MayWait returns an error if the caller is within the function of an Update of this store:
// whoever waits there for another goroutine that writes to the store waits for ever. It is for
// stores whose calls write for one another; who writes itself is told by the write.
func (db *DB) MayWait(ctx context.Context) error {
	if db.writers.suspects() == 0 {
		return nil
	}
	if err := db.writers.enterAlone(ctx); err != nil { // it may be another store's function
		return db.wrap("update", waitedForItself(err))
	}
	db.writers.leaveAlone()
	return nil
}
