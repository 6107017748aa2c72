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
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// A Conn is one connection to a database. One goroutine uses it at a time, with its statements; a
// call that meets another one, or comes from a callback of the same connection, is an error of kind
// [kv.Busy]. A call after Close is one of kind [kv.Closed].
type Conn struct {
	path    string
	c       *C.assay_conn
	handle  cgo.Handle
	use     atomic.Int32
	watch   watch
	calls   calls
	traces  C.int // what Go wants traced, in the place of hooks
	ring    *Ring
	frozen  *C.char  // the settings that the policy keeps, for C
	keeping []string // the same
	policy  *Policy

	stmts map[*Stmt]struct{}
	byRun map[unsafe.Pointer]*Stmt // by sqlite3_stmt, for traces
	blobs map[*BlobFile]struct{}   // that are open
	saves atomic.Int32             // savepoints, one within another
	texts map[string]*Stmt         // BEGIN, COMMIT and their like
	begun bool                     // Begin began a transaction that has not been ended
	lost  error                    // why SQLite rolled it back, before Rollback or Commit says so
}

// The states of use.
const (
	idle = iota
	inUse
	closed
	broken // a callback ended its goroutine, amid a call of SQLite
)

// enter begins a call.
func (c *Conn) enter(op string) error {
	if c.use.CompareAndSwap(idle, inUse) {
		return nil
	}
	switch c.use.Load() {
	case closed:
		return &kv.Error{Op: op, Engine: engine, Path: c.path, Kind: kv.Closed}
	case broken:
		return &kv.Error{Op: op, Engine: engine, Path: c.path, Kind: kv.Closed,
			Err: errors.New("closed, as a callback ended its goroutine (runtime.Goexit, or FailNow of a test)")}
	}
	return &kv.Error{Op: op, Engine: engine, Path: c.path, Kind: kv.Busy, Err: errors.New("the connection is in use"),
		Hint: "a connection serves one goroutine at a time, and not its own callbacks; open another one"}
}

func (c *Conn) leave() { c.use.CompareAndSwap(inUse, idle) }

// Close ends the connection, and rolls back its transaction. Its statements and blobs end with it.
// Closing twice is an error of kind [kv.Closed].
func (c *Conn) Close() error {
	if err := c.enter("close"); err != nil {
		return err
	}
	var err error
	for b := range c.blobs {
		if rc := b.end(); rc != rcOK && err == nil {
			err = c.failure(context.Background(), "close blob", rc)
		}
	}
	for s := range c.stmts {
		s.finalize()
	}
	if rc := C.sqlite3_close_v2(c.c.db); rc != rcOK && err == nil {
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

// Closed reports whether the connection cannot be used any more, as it was closed, or a callback
// ended its goroutine.
func (c *Conn) Closed() bool { return c.use.Load() >= closed }

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
			if closed := s.Close(); err == nil {
				err = closed
			}
		}
		if err != nil {
			return err
		}
		sql = rest
	}
	return nil
}

// file returns the file of the database within a call, "" for one in memory.
func (c *Conn) file() string {
	main := C.CString("main")
	defer C.free(unsafe.Pointer(main))
	return C.GoString(C.sqlite3_db_filename(c.c.db, main))
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
	switch {
	case strings.HasPrefix(sql, "BEGIN"):
		s.role = begins
	case sql == "COMMIT", sql == "ROLLBACK":
		s.role = ends
	}
	c.texts[sql] = s
	return s, nil
}
