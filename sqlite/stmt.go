//go:build cgo

package sqlite

/*
#include "cross.h"

#cgo noescape assay_step
#cgo nocallback assay_step
*/
import "C"

import (
	"context"
	"math"
	"strings"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// A Stmt is a prepared statement. A run of it binds arguments, which are numbered from 1, and then
// calls [Stmt.Run], or [Stmt.Next] for each row:
//
//	s.BindText(1, queue)
//	s.BindInt(2, now)
//	for {
//		ok, err := s.Next(ctx)
//		if !ok {
//			return err
//		}
//		ids = append(ids, s.Int(0))
//	}
//
// A parameter that is not bound is NULL. What is bound is copied, holds for one run, and begins it:
// a run that has rows left ends there. All rows that fit a buffer pass from C in one call, so rows
// are read ahead of the program; see [Stmt.ReadAhead].
type Stmt struct {
	c    *Conn
	run  *C.assay_run // nil when closed
	sql  string
	args []C.assay_value
	data []byte // the texts and blobs of args

	out     []C.assay_value // rows, one behind another
	row     []C.assay_value // the columns of the current one
	left    int             // rows behind it in out
	next    int64           // where the first of them begins
	outcome C.assay_outcome

	role    role
	most    C.int // rows to read ahead; 0: what fits
	bound   bool  // arguments were given since the last run began
	restart bool  // the next crossing resets first
	active  bool  // there are rows that C has not copied
	ended   bool  // Next is to return false once the rows are read
	err     error // of Bind

	names   []string // of columns
	columns int
}

// A role is what a statement does to the transaction of Begin.
type role int

const (
	plainRole role = iota
	begins
	ends
)

// The rows of a crossing fill so many values of 16 bytes at first, and at most when there are many.
const leastOut, mostOut = 64, 4096

// Prepare compiles the first statement of a text; more behind it is an error of kind [kv.Invalid],
// as is a text without one. Close ends it.
func (c *Conn) Prepare(ctx context.Context, sql string) (*Stmt, error) {
	s, rest, err := c.prepare(ctx, sql, persistent)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, c.invalid("prepare", "", "there is no statement in %q", sql)
	}
	if strings.TrimSpace(rest) != "" {
		s.Close()
		return nil, c.invalid("prepare", "run several by Exec, or by PrepareFirst in turn", "there is more behind the statement: %q", rest)
	}
	return s, nil
}

// PrepareFirst compiles the first statement of a text and returns the text behind it. A text
// without a statement, as a comment is, gives a nil Stmt.
func (c *Conn) PrepareFirst(ctx context.Context, sql string) (s *Stmt, rest string, err error) {
	return c.prepare(ctx, sql, persistent)
}

// persistent tells SQLite that a statement will be run often.
const persistent = 1

func (c *Conn) prepare(ctx context.Context, sql string, flags C.uint) (*Stmt, string, error) {
	if err := c.enter("prepare"); err != nil {
		return nil, "", err
	}
	defer c.leave()
	return c.compile(ctx, sql, flags)
}

// compile prepares within a call.
func (c *Conn) compile(ctx context.Context, sql string, flags C.uint) (*Stmt, string, error) {
	if err := c.begin(ctx, "prepare"); err != nil {
		return nil, "", err
	}
	defer c.finish(ctx)
	if sql == "" {
		return nil, "", nil
	}
	if len(sql) > math.MaxInt32 {
		return nil, "", c.invalid("prepare", "", "a text of %d bytes", len(sql))
	}
	s := &Stmt{c: c, sql: sql}
	var tail C.int
	rc := C.assay_prepare(c.c, (*C.char)(unsafe.Pointer(unsafe.StringData(sql))), C.int(len(sql)), flags, &s.run, &tail)
	if rc != rcOK {
		return nil, "", c.failure(ctx, "prepare", rc)
	}
	if err := c.panicked("prepare"); err != nil {
		if s.run != nil {
			C.assay_finalize(c.c, s.run)
		}
		return nil, "", err
	}
	rest := sql[tail:]
	if s.run == nil {
		switch {
		case strings.TrimSpace(rest) == "":
			return nil, "", nil
		case tail == 0: // SQLite would pass over what is behind it
			return nil, "", c.invalid("prepare", "", "there is a zero byte in the text: %q", rest)
		}
		return c.compile(ctx, rest, flags) // a lone semicolon or comment came first
	}
	s.sql = sql[:tail]
	s.columns = int(s.run.columns)
	s.args = make([]C.assay_value, s.run.parameters)
	if c.ring != nil && flags == persistent {
		s.run.id = C.uint32_t(c.ring.id(s.sql))
	}
	c.stmts[s] = struct{}{}
	c.byRun[unsafe.Pointer(s.run.stmt)] = s
	return s, rest, nil
}

// Close ends the statement, and its run. It may be called twice, and after the connection's.
func (s *Stmt) Close() error {
	if err := s.c.enter("close statement"); err != nil {
		if s.c.use.Load() == closed {
			return nil
		}
		return err
	}
	defer s.c.leave()
	s.finalize()
	return s.c.panicked("close statement")
}

func (s *Stmt) finalize() {
	if s.run == nil {
		return
	}
	delete(s.c.stmts, s)
	delete(s.c.byRun, unsafe.Pointer(s.run.stmt))
	C.assay_finalize(s.c.c, s.run)
	s.run, s.row, s.left, s.ended = nil, nil, 0, false // rows that were read ahead end with it
}

// Run runs the statement to its end; rows are dropped. See [Stmt.Changes].
func (s *Stmt) Run(ctx context.Context) error {
	return s.cross(ctx, "run", -1)
}

// Next makes the next row the current one, or reports that there is none; the statement has ended
// then, and can be run again.
func (s *Stmt) Next(ctx context.Context) (bool, error) {
	for s.left == 0 || s.restart {
		if s.restart {
			s.ended = false
		}
		if s.ended {
			s.ended, s.row = false, nil
			return false, nil
		}
		if err := s.cross(ctx, "next", s.most); err != nil {
			s.row, s.left = nil, 0
			return false, err
		}
	}
	s.left--
	// C keeps rows where values are aligned.
	at := unsafe.Add(unsafe.Pointer(unsafe.SliceData(s.out)), s.next)
	row := unsafe.Slice((*C.assay_value)(at), 1+s.columns)
	s.next, s.row = int64(row[0].number), row[1:]
	return true, nil
}

// Reset ends a run before its last row.
func (s *Stmt) Reset() error {
	if err := s.c.enter("reset"); err != nil {
		return err
	}
	defer s.c.leave()
	if s.run != nil && (s.active || s.restart) { // otherwise C has done so at the end of the run
		C.assay_reset(s.c.c, s.run)
	}
	s.row, s.left, s.ended, s.active, s.restart = nil, 0, false, false, false
	s.trim()
	return s.c.panicked("reset")
}

// trim forgets buffers that one large row had made.
func (s *Stmt) trim() {
	if len(s.out) > mostOut*16 {
		s.out = nil
	}
	if cap(s.data) > mostOut*256 {
		s.data = nil
	}
}

// ReadAhead limits how many rows are read before the program asks for them: 1 for rows that take
// long to find, 0, the default, for as many as fit a buffer of at most 64 KB.
func (s *Stmt) ReadAhead(rows int) { s.most = C.int(min(max(rows, 0), math.MaxInt32)) }

// cross runs the statement in C: it binds, steps and copies at most so many rows, or drops all if
// most is negative.
func (s *Stmt) cross(ctx context.Context, op string, most C.int) error {
	c := s.c
	if err := c.enter(op); err != nil {
		return err
	}
	if most < 0 {
		s.restart = s.restart || s.active
		s.row, s.left = nil, 0
	}
	err := s.err
	if s.err = nil; err == nil && s.run == nil {
		err = &kv.Error{Op: op, Engine: engine, Path: c.path, Kind: kv.Closed}
	}
	if err == nil && c.lost != nil {
		err = c.gone(op, s.role)
	}
	if err == nil {
		err = c.begin(ctx, op)
	}
	if err == nil {
		err = s.step(ctx, op, most)
		if c.finish(ctx) && err == nil && s.active {
			err = s.abandon(ctx, op)
		}
		if s.role != plainRole {
			c.turn(s.role, err)
		}
	}
	if most < 0 {
		s.ended = false
	}
	if err != nil {
		clear(s.args)
		s.data, s.bound = s.data[:0], false
	}
	c.leave()
	return err
}

// abandon ends a run that has rows left and was told to end when it had some already. SQLite: an
// interrupt that comes so late ends whatever runs next, as long as this run is there.
func (s *Stmt) abandon(ctx context.Context, op string) error {
	var err error
	if s.run.read_only == 0 {
		err = s.step(ctx, op, -1) // it is rolled back, if it was interrupted
	} else {
		C.assay_reset(s.c.c, s.run)
		err = s.c.panicked(op)
	}
	s.active, s.row, s.left = false, nil, 0
	if err == nil {
		err = s.c.canceled(op, ctx.Err())
	}
	return err
}

func (s *Stmt) step(ctx context.Context, op string, most C.int) error {
	c, o := s.c, &s.outcome
	if s.restart {
		C.assay_reset(c.c, s.run)
		s.restart = false
	}
	if s.out == nil && most >= 0 && s.columns > 0 {
		s.out = make([]C.assay_value, leastOut+1+s.columns)
	}
	for {
		args, n := unsafe.SliceData(s.args), C.int(len(s.args))
		data := (*C.char)(unsafe.Pointer(unsafe.SliceData(s.data)))
		out, room := (*C.char)(unsafe.Pointer(unsafe.SliceData(s.out))), C.int64_t(len(s.out)*C.sizeof_assay_value)
		if c.c.hooks == 0 {
			C.assay_step(c.c, s.run, args, n, data, C.uint64_t(len(s.data)), out, room, most, o)
		} else {
			C.assay_step_calling(c.c, s.run, args, n, data, C.uint64_t(len(s.data)), out, room, most, o)
		}
		s.data, s.bound = s.data[:0], false
		if o.anew != 0 { // the schema has changed
			s.columns, s.names = int(s.run.columns), nil
		}
		if o.rc != rcNeed {
			break
		}
		s.out = make([]C.assay_value, (int(o.need)+C.sizeof_assay_value-1)/C.sizeof_assay_value+1)
	}
	s.left, s.next = int(o.rows), 0
	s.active, s.ended = o.rc == rcRow, o.rc == rcDone
	switch {
	case o.rc != rcRow && o.rc != rcDone:
		s.left = 0
		err := c.failure(ctx, op, C.int(o.rc))
		if o.lost != 0 && c.begun {
			c.lost = err
		}
		return err
	case c.calls.raised.Load():
		s.left = 0
		return c.panicked(op)
	case s.active && most != 1 && len(s.out) < mostOut:
		s.out = append(make([]C.assay_value, 0, 2*len(s.out)), s.out...)[:2*len(s.out)]
	}
	return nil
}

// Changes returns how many rows the last run inserted, updated or deleted, without those of
// triggers and foreign keys.
func (s *Stmt) Changes() int64 { return int64(s.outcome.changes) }

// LastID returns the row id of the connection's last insert into a table with row ids, as the last
// run left it.
func (s *Stmt) LastID() int64 { return int64(s.outcome.rowid) }

// ReadOnly reports whether the statement writes nothing.
func (s *Stmt) ReadOnly() bool {
	if s.c.enter("read only") != nil {
		return false
	}
	defer s.c.leave()
	return s.run != nil && s.run.read_only != 0
}

// SQL returns the text of the statement.
func (s *Stmt) SQL() string { return s.sql }
