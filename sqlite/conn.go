//go:build cgo

package sqlite

/*
#include "cross.h"

#cgo noescape assay_stop
#cgo nocallback assay_stop
#cgo noescape sqlite3_get_autocommit
#cgo nocallback sqlite3_get_autocommit
*/
import "C"

import (
	"context"
	"errors"
	"runtime/cgo"
	"sync/atomic"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// A Conn is one connection to a database. One goroutine uses it at a time, with its statements; a
// call that meets another one, or comes from a callback of the same connection, is an error of kind
// [kv.Busy]. A call after Close is one of kind [kv.Closed].
type Conn struct {
	path   string
	c      *C.assay_conn
	handle cgo.Handle
	use    atomic.Int32
	watch  watch
	calls  calls
	traces C.int // what Go wants traced, in the place of hooks
	ring   *Ring
	frozen *C.char // the settings that the policy keeps
	policy *Policy

	stmts map[*Stmt]struct{}
	byRun map[unsafe.Pointer]*Stmt // by sqlite3_stmt, for traces
	parts int                      // blobs and backups that are open
	saves int                      // savepoints, one within another
	texts map[string]*Stmt         // BEGIN, COMMIT and their like
}

// The states of use.
const (
	idle = iota
	inUse
	closed
)

// enter begins a call.
func (c *Conn) enter(op string) error {
	if c.use.CompareAndSwap(idle, inUse) {
		return nil
	}
	if c.use.Load() == closed {
		return &kv.Error{Op: op, Engine: engine, Path: c.path, Kind: kv.Closed}
	}
	return &kv.Error{Op: op, Engine: engine, Path: c.path, Kind: kv.Busy, Err: errors.New("the connection is in use"),
		Hint: "a connection serves one goroutine at a time, and not its own callbacks; open another one"}
}

func (c *Conn) leave() { c.use.Store(idle) }

// Close ends the connection, and rolls back its transaction. Its statements, blobs and backups end
// with it. Closing twice is an error of kind [kv.Closed].
func (c *Conn) Close() error {
	if err := c.enter("close"); err != nil {
		return err
	}
	if c.parts > 0 {
		c.leave()
		return c.invalid("close", "close them first", "%d blobs or backups are open", c.parts)
	}
	for s := range c.stmts {
		s.finalize()
	}
	rc := C.sqlite3_close_v2(c.c.db)
	var err error
	if rc != rcOK {
		err = c.failure(context.Background(), "close", rc)
	}
	if p := c.panicked("close"); err == nil {
		err = p
	}
	c.use.Store(closed)
	c.watch.end()
	c.handle.Delete()
	C.free(unsafe.Pointer(c.frozen))
	C.free(unsafe.Pointer(c.c))
	if c.ring != nil {
		c.ring.release()
	}
	return err
}

// InTx reports whether a transaction is open. SQLite: some errors (a full disk, an interrupt of a
// write) have rolled it back already.
func (c *Conn) InTx() bool {
	if c.enter("transaction") != nil {
		return false
	}
	defer c.leave()
	return C.sqlite3_get_autocommit(c.c.db) == 0
}

// Path returns the path as it was given to Open.
func (c *Conn) Path() string { return c.path }

// Exec runs the statements of a text in turn, without arguments. What they return is dropped. The
// first error ends it; statements before it are done, unless they were in a transaction.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	for sql != "" {
		s, rest, err := c.prepare(ctx, sql, 0)
		if err != nil {
			return err
		}
		if s != nil {
			err = s.Run(ctx)
			s.Close()
		}
		if err != nil {
			return err
		}
		sql = rest
	}
	return nil
}

// keep runs a statement that is prepared once.
func (c *Conn) keep(ctx context.Context, sql string) error {
	s, err := c.kept(ctx, sql)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

func (c *Conn) kept(ctx context.Context, sql string) (*Stmt, error) {
	if err := c.enter(sql); err != nil {
		return nil, err
	}
	defer c.leave()
	if s := c.texts[sql]; s != nil {
		return s, nil
	}
	s, _, err := c.compile(ctx, sql, persistent)
	if err != nil {
		return nil, err
	}
	c.texts[sql] = s
	return s, nil
}
