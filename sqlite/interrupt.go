//go:build cgo

package sqlite

// #include "cross.h"
import "C"

import (
	"context"
	"sync"

	"github.com/assaydb/assay/kv"
)

// A watch ends what a connection runs when its context ends. The last context stays watched, so
// that the next call with it costs no allocation.
type watch struct {
	mu    sync.Mutex
	done  <-chan struct{} // of the context that is watched
	stop  func() bool
	armed bool // a call with it runs
}

// begin watches ctx during a call.
func (c *Conn) begin(ctx context.Context, op string) error {
	done := ctx.Done()
	if done == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return c.canceled(op, err)
	}
	w := &c.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	C.assay_stop(c.c, 0)
	w.armed = true
	if w.done != done {
		if w.stop != nil {
			w.stop()
		}
		w.done = done
		w.stop = context.AfterFunc(ctx, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.armed && w.done == done {
				C.assay_stop(c.c, 1)
			}
		})
	}
	if err := ctx.Err(); err != nil { // since then: nobody may have been told
		w.armed = false
		return c.canceled(op, err)
	}
	return nil
}

func (c *Conn) canceled(op string, err error) error {
	return &kv.Error{Op: op, Engine: engine, Path: c.path, Kind: kv.Canceled, Err: err}
}

// finish ends the watch of a call.
func (c *Conn) finish(ctx context.Context) {
	if ctx.Done() == nil {
		return
	}
	w := &c.watch
	w.mu.Lock()
	w.armed = false
	C.assay_stop(c.c, 0)
	w.mu.Unlock()
}

// end forgets the context.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed, w.done = false, nil
	if w.stop != nil {
		w.stop()
	}
}
