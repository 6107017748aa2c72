//go:build cgo

package sqlite

// #include "cross.h"
import "C"

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/assaydb/assay/kv"
)

// A watch ends what a connection runs when its context ends. The last context stays watched, so
// that the next call with it costs no allocation, no lock and no call into C.
type watch struct {
	call atomic.Int32
	mu   sync.Mutex      // held while a call is told to end
	done <-chan struct{} // of the context that is watched; changed by the connection's user, under mu
	stop func() bool
}

// What a watch knows of the call that runs.
const (
	noCall  int32 = iota // there is none
	running              // with the context that is watched
	told                 // to end
)

// begin watches ctx during a call.
func (c *Conn) begin(ctx context.Context, op string) error {
	done := ctx.Done()
	if done == nil {
		return nil
	}
	w := &c.watch
	if w.done != done {
		if err := ctx.Err(); err != nil {
			return c.canceled(op, err)
		}
		c.follow(ctx)
	}
	w.call.Store(running)
	if err := ctx.Err(); err != nil { // it ended before, when there was no call to be told
		c.finish(ctx)
		return c.canceled(op, err)
	}
	return nil
}

// follow watches ctx from now on, and no longer the one before.
func (c *Conn) follow(ctx context.Context) {
	w := &c.watch
	w.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	done := ctx.Done()
	w.done = done
	w.stop = context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.done == done && w.call.CompareAndSwap(running, told) {
			C.assay_stop(c.c, 1)
		}
	})
}

func (c *Conn) canceled(op string, err error) error {
	return &kv.Error{Op: op, Engine: engine, Path: c.path, Kind: kv.Canceled, Err: err}
}

// finish ends the watch of a call, and reports whether it was told to end.
func (c *Conn) finish(ctx context.Context) bool {
	w := &c.watch
	if ctx.Done() == nil || w.call.CompareAndSwap(running, noCall) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	C.assay_stop(c.c, 0)
	return w.call.Swap(noCall) == told
}

// end forgets the context.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = nil
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
}
