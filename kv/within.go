package kv

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
)

// A program that writes within the function of an Update, to the same store and not by the
// transaction, waits for a turn that it has itself. Nothing in Go tells which goroutine has the
// turn, but a goroutine can see on its own stack within how many functions of Updates it is, each
// of which has the turn of a store. If no other store of the process has an Update, the one that is
// waited for is among these. As the others end by themselves, and this one does not, that moment
// comes.

// allTurns are those of all stores that are open: keys are *turns.
var allTurns sync.Map

// run runs the function of an Update that has the turn.
//
//go:noinline
func run(fn func(*Tx) error, tx *Tx) error { return fn(tx) }

// runs is where run goes on after the function, as it stands on the stack.
var runs = func() uintptr {
	var pc [1]uintptr
	_ = run(func(*Tx) error { runtime.Callers(2, pc[:]); return nil }, nil)
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

// updates reports whether an Update has the turn, or waits for it next. Who shares for a moment
// does not hide it.
func (t *turns) updates() bool { return t.in.Load() < updating-alone/2 }

// suspects returns within how many functions of Updates the caller is, if one may have the turn
// that it is about to wait for: that may be one of these.
func (t *turns) suspects() int64 {
	if !t.updates() {
		return 0
	}
	return functions()
}

// convicts reports whether the Update that has the turn is that of one of the n functions that the
// caller is within. These are seen here in any case, so that there is no other if n are. That it is
// not, may only be unknown.
func (t *turns) convicts(n int64) bool {
	found := false
	allTurns.Range(func(key, _ any) bool {
		if other := key.(*turns); other.updates() {
			n--
			found = found || other == t
		}
		return true
	})
	return found && n == 0
}

var errWithin = errors.New("the function of an Update writes to its store, and not by its transaction")

// lookEvery is how often one who waits looks whether it waits for itself.
const lookEvery = time.Millisecond

// watch returns a context that ends, with errWithin as the cause, once it is certain that the
// caller, who is within n functions of Updates, waits for itself.
func (t *turns) watch(ctx context.Context, n int64) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var look func()
	look = func() {
		switch {
		case ctx.Err() != nil:
		case t.convicts(n):
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
	if err := db.writers.enterAlone(ctx, alone); err != nil { // it may be another store's function
		return db.wrap("update", waitedForItself(err))
	}
	db.writers.leaveAlone()
	return nil
}
