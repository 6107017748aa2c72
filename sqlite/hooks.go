//go:build cgo

package sqlite

// #include "cross.h"
import "C"

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/assaydb/assay/kv"
)

// calls are the callbacks of a connection. They run on the goroutine that runs the statement, and
// must not use the connection: such a call is an error. One that panics makes an error of the call
// that it was in, which is interrupted; what it had done may stand, as with any error. One that
// ends its goroutine ends the connection, without giving back what it holds.
type calls struct {
	trace     func(Event)
	wal       func(schema string, pages int)
	commit    func() error
	rollback  func()
	update    func(Change)
	progress  func() error
	authorize func(Access) Decision

	raised atomic.Bool // err is to be returned
	err    error
}

// An EventKind says what is traced. As a mask it says what is to be.
type EventKind int

// What is traced: SQLite's events.
const (
	TraceStatement EventKind = 1 << iota // a statement begins, or a trigger within it, told as a comment
	TraceProfile                         // a statement has ended, with the time it took
	TraceRow                             // a row was returned
	TraceClose                           // the connection closes
)

// An Event is what is traced.
type Event struct {
	Kind     EventKind
	Conn     uint64        // tells connections apart
	SQL      string        // the text as it was prepared
	At       time.Duration // by a clock that only goes forward, the same for all events of a process
	Duration time.Duration // of TraceProfile, from the first step to the end
	Pages    int           // in a ring, of TraceProfile: in the log after the commit that the run made; 0 if none
}

// A Change is a row that changes.
type Change struct {
	Op     Op
	Schema string // "main", "temp", or that of ATTACH
	Table  string
	Row    int64
}

// An Op is what happens to a row.
type Op int

// Operations, with SQLite's numbers.
const (
	Delete Op = 9
	Insert Op = 18
	Update Op = 23
)

// An Access is what a statement that is compiled would do: an action of
// https://sqlite.org/c3ref/c_alter_table.html with its two arguments.
type Access struct {
	Action         int
	A, B           string
	Schema, Within string // the latter: the trigger or view that does it
}

// A Decision is an authorizer's.
type Decision int

// Decisions.
const (
	Allow  Decision = iota
	Deny            // the statement is an error of code Unauthorized
	Ignore          // a column is NULL, other actions are left out
)

// The numbers of hooks in cross.h.
const (
	hookWAL = 2 << iota
	hookCommit
	hookRollback
	hookUpdate
	hookProgress
	hookAuthorize
	hookFiles // a file system that may be Go's
)

// set changes a callback within a call.
func (c *Conn) set(bit C.int, on bool, change func()) error {
	if err := c.enter("set callback"); err != nil {
		return err
	}
	defer c.leave()
	change()
	c.c.hooks &^= bit
	if on {
		c.c.hooks |= bit
	}
	c.c.hooks = c.c.hooks&0xff | c.traces
	C.assay_hooks(c.c)
	return nil
}

// OnTrace has fn called with events of the kinds in mask; nil ends that. The mask is of SQLite's
// own events.
func (c *Conn) OnTrace(mask EventKind, fn func(Event)) error {
	const all = TraceStatement | TraceProfile | TraceRow | TraceClose
	if mask&^all != 0 {
		return c.invalid("set callback", "", "mask %#x", int(mask))
	}
	bits := C.int(0)
	if fn != nil {
		bits = C.int(mask) << 8
	}
	return c.set(C.int(all)<<8, false, func() { c.calls.trace, c.traces = fn, bits })
}

// OnWAL has fn called after each commit, with the pages that are in the log. Checkpoints go on as
// Options.Checkpoint says. Nil ends that.
func (c *Conn) OnWAL(fn func(schema string, pages int)) error {
	return c.set(hookWAL, fn != nil, func() { c.calls.wal = fn })
}

// OnCommit has fn called before each commit, which an error of fn turns into a rollback. Nil ends
// that.
func (c *Conn) OnCommit(fn func() error) error {
	return c.set(hookCommit, fn != nil, func() { c.calls.commit = fn })
}

// OnRollback has fn called when a transaction is rolled back. Nil ends that.
func (c *Conn) OnRollback(fn func()) error {
	return c.set(hookRollback, fn != nil, func() { c.calls.rollback = fn })
}

// OnUpdate has fn called for each row of a table with row ids that changes. Nil ends that.
func (c *Conn) OnUpdate(fn func(Change)) error {
	return c.set(hookUpdate, fn != nil, func() { c.calls.update = fn })
}

// OnProgress has fn called every thousand steps of SQLite's machine; an error of it interrupts the
// statement. Nil ends that.
func (c *Conn) OnProgress(fn func() error) error {
	return c.set(hookProgress, fn != nil, func() { c.calls.progress = fn })
}

// OnAuthorize has fn asked about all that a statement would do when it is prepared. Nil ends that.
func (c *Conn) OnAuthorize(fn func(Access) Decision) error {
	return c.set(hookAuthorize, fn != nil, func() { c.calls.authorize = fn })
}

// calling runs a callback. A panic of it is an error, and interrupts what runs. Nothing can hold up
// a goroutine that ends: SQLite is left where it was, and the connection is not used again.
func (c *Conn) calling(fn func()) {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			c.raise(fmt.Errorf("callback panicked: %v\n%s", p, debug.Stack()))
			C.assay_stop(c.c, 1)
		} else if !returned {
			c.use.Store(broken)
		}
	}()
	fn()
	returned = true
}

// raise has err returned by the call that a callback is in.
func (c *Conn) raise(err error) {
	if !c.calls.raised.Swap(true) {
		c.calls.err = err
	}
}

// panicked returns the error that a callback raised, once.
func (c *Conn) panicked(op string) error {
	if !c.calls.raised.Load() {
		return nil
	}
	err := c.calls.err
	C.assay_stop(c.c, 0)
	c.calls.err = nil
	c.calls.raised.Store(false)
	return &kv.Error{Op: op, Engine: engine, Path: c.path, Kind: kv.KindOf(err), Err: err}
}
