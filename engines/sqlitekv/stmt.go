package sqlitekv

import (
	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/engines/internal/sqlite"
)

// stmt is a prepared statement with the memory that its arguments are bound from.
type stmt struct {
	c      *conn
	handle uintptr // sqlite3_stmt*
	args   uintptr // memory for the arguments; SQLite reads it until the statement is reset
	room   int     // size of args
}

var _ sqlite.Stmt = (*stmt)(nil)

// keptRoom is how much argument memory a statement keeps between calls.
const keptRoom = 1 << 20

// Prepare compiles sql.
func (c *conn) Prepare(sql string, persistent bool) (sqlite.Stmt, int32) {
	text, err := libc.CString(sql)
	if err != nil {
		return nil, lib.SQLITE_NOMEM
	}
	defer libc.Xfree(c.tls, text)
	var flags uint32
	if persistent {
		flags = lib.SQLITE_PREPARE_PERSISTENT
	}
	if rc := lib.Xsqlite3_prepare_v3(c.tls, c.db, text, -1, flags, c.out, 0); rc != lib.SQLITE_OK {
		return nil, rc
	}
	return &stmt{c: c, handle: c.result()}, lib.SQLITE_OK
}

// Bind sets the arguments ?1 and ?2 to copies of a and b; a nil b is no argument.
func (s *stmt) Bind(a, b []byte) int32 {
	if need := len(a) + len(b); need > s.room || s.args == 0 {
		if !s.grow(need) {
			return lib.SQLITE_NOMEM
		}
	}
	args := libc.GoBytes(s.args, s.room)
	n := copy(args, a)
	copy(args[n:], b)
	rc := lib.Xsqlite3_bind_blob(s.c.tls, s.handle, 1, s.args, int32(n), 0)
	if b == nil || rc != lib.SQLITE_OK {
		return rc
	}
	return lib.Xsqlite3_bind_blob(s.c.tls, s.handle, 2, s.args+uintptr(n), int32(len(b)), 0)
}

// grow replaces the argument memory. Whatever was bound is bound anew before the next step.
func (s *stmt) grow(need int) bool {
	libc.Xfree(s.c.tls, s.args)
	s.room = max(need, 2*s.room, 256)
	if s.room > keptRoom {
		s.room = max(need, keptRoom)
	}
	if s.args = libc.Xmalloc(s.c.tls, types.Size_t(s.room)); s.args == 0 {
		s.room = 0
	}
	return s.args != 0
}

// Reset ends a run.
func (s *stmt) Reset() {
	lib.Xsqlite3_reset(s.c.tls, s.handle)
	if s.room > keptRoom {
		libc.Xfree(s.c.tls, s.args)
		s.args, s.room = 0, 0
	}
}

// Step runs the statement up to its next row or its end; the columns are in SQLite's memory.
func (s *stmt) Step(columns int) (a, b []byte, rc int32) {
	rc = lib.Xsqlite3_step(s.c.tls, s.handle)
	if rc != lib.SQLITE_ROW || columns == 0 {
		return nil, nil, rc
	}
	if a, rc = s.column(0); columns == 2 && rc == lib.SQLITE_ROW {
		b, rc = s.column(1)
	}
	return a, b, rc
}

// column returns column i of the row. SQLite: an empty blob has no address, nor has one for which
// there was no memory.
func (s *stmt) column(i int32) ([]byte, int32) {
	p := lib.Xsqlite3_column_blob(s.c.tls, s.handle, i)
	if p == 0 && lib.Xsqlite3_errcode(s.c.tls, s.c.db) == lib.SQLITE_NOMEM {
		return nil, lib.SQLITE_NOMEM
	}
	return libc.GoBytes(p, int(lib.Xsqlite3_column_bytes(s.c.tls, s.handle, i))), lib.SQLITE_ROW
}

// Finalize releases the statement.
func (s *stmt) Finalize() {
	lib.Xsqlite3_finalize(s.c.tls, s.handle)
	libc.Xfree(s.c.tls, s.args)
	*s = stmt{}
}
