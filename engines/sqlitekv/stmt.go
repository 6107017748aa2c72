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

// What a statement allocates for its arguments at least, and keeps between calls at most.
const leastRoom, keptRoom = 256, 1 << 20

// Prepare compiles sql.
func (c *conn) Prepare(sql string, flags uint32) (sqlite.Stmt, int32) {
	handle, rc := c.make(sql, func(text, out uintptr) int32 {
		return lib.Xsqlite3_prepare_v3(c.tls, c.db, text, -1, flags, out, 0)
	})
	return &stmt{c: c, handle: handle}, rc
}

// Bind sets the arguments ?1 and ?2 to copies of a and b; a nil b is no argument.
func (s *stmt) Bind(a, b []byte) int32 {
	if need := len(a) + len(b); need > s.room || s.args == 0 {
		libc.Xfree(s.c.tls, s.args)
		s.room = max(need, leastRoom)
		if s.args = libc.Xmalloc(s.c.tls, types.Size_t(s.room)); s.args == 0 {
			return sqlite.NoMem
		}
	}
	args := libc.GoBytes(s.args, s.room)
	copy(args[copy(args, a):], b)
	rc := lib.Xsqlite3_bind_blob(s.c.tls, s.handle, 1, s.args, int32(len(a)), 0)
	if b == nil || rc != sqlite.OK {
		return rc
	}
	return lib.Xsqlite3_bind_blob(s.c.tls, s.handle, 2, s.args+uintptr(len(a)), int32(len(b)), 0)
}

// Step runs the statement up to its next row or its end; the columns are in SQLite's memory.
func (s *stmt) Step(columns int) (a, b []byte, rc int32) {
	if rc = lib.Xsqlite3_step(s.c.tls, s.handle); rc == sqlite.GenericError {
		rc = lib.Xsqlite3_reset(s.c.tls, s.handle) // the code of the hook, which a step does not tell
	}
	if rc != sqlite.Row || columns == 0 {
		return nil, nil, rc
	}
	if a, rc = s.column(0); columns == 2 && rc == sqlite.Row {
		b, rc = s.column(1)
	}
	return a, b, rc
}

// column returns column i of the row. SQLite: an empty blob has no address, nor has one for which
// there was no memory.
func (s *stmt) column(i int32) ([]byte, int32) {
	p := lib.Xsqlite3_column_blob(s.c.tls, s.handle, i)
	if p == 0 && lib.Xsqlite3_errcode(s.c.tls, s.c.db) == sqlite.NoMem {
		return nil, sqlite.NoMem
	}
	return libc.GoBytes(p, int(lib.Xsqlite3_column_bytes(s.c.tls, s.handle, i))), sqlite.Row
}

// Reset ends a run.
func (s *stmt) Reset() {
	lib.Xsqlite3_reset(s.c.tls, s.handle)
	if s.room > keptRoom {
		libc.Xfree(s.c.tls, s.args)
		s.args = 0
	}
}

// Finalize releases the statement.
func (s *stmt) Finalize() {
	lib.Xsqlite3_finalize(s.c.tls, s.handle)
	libc.Xfree(s.c.tls, s.args)
	*s = stmt{}
}
