package sqlitekv

import (
	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"
)

// kind is a statement that a connection has at most one of.
type kind uint8

const (
	kindBegin kind = iota
	kindCommit
	kindPin
	kindGet
	kindPut
	kindDelete
	kinds
)

var statements = [kinds]string{
	kindBegin:  "BEGIN IMMEDIATE",
	kindCommit: "COMMIT",
	// SQLite: a read transaction lasts as long as one reading statement of the connection does. This one always has a
	// row, the table kv's, so stepping it once opens a snapshot and resetting it ends it.
	kindPin:    "SELECT 1 FROM sqlite_schema",
	kindGet:    "SELECT v FROM kv WHERE k = ?1",
	kindPut:    "INSERT INTO kv(k, v) VALUES(?1, ?2) ON CONFLICT(k) DO UPDATE SET v = excluded.v",
	kindDelete: "DELETE FROM kv WHERE k = ?1",
}

// stmt is a prepared statement with the memory that its arguments are bound from. The zero stmt is not prepared yet.
type stmt struct {
	handle uintptr // sqlite3_stmt*
	args   uintptr // memory for the arguments; SQLite reads it until the statement is reset
	room   int     // size of args
}

// keptRoom is how much argument memory a statement keeps between calls.
const keptRoom = 1 << 20

// prepare compiles sql.
func (s *stmt) prepare(c *conn, sql string, flags uint32) int32 {
	text, err := libc.CString(sql)
	if err != nil {
		return lib.SQLITE_NOMEM
	}
	defer libc.Xfree(c.tls, text)
	rc := lib.Xsqlite3_prepare_v3(c.tls, c.db, text, -1, flags, c.out, 0)
	if rc == lib.SQLITE_OK {
		s.handle = c.result()
	}
	return rc
}

// bind sets the arguments ?1 and ?2 to copies of a and b; a nil b is no argument.
func (s *stmt) bind(c *conn, a, b []byte) int32 {
	if need := len(a) + len(b); need > s.room || s.args == 0 {
		if !s.grow(c, need) {
			return lib.SQLITE_NOMEM
		}
	}
	args := libc.GoBytes(s.args, s.room)
	n := copy(args, a)
	copy(args[n:], b)
	rc := lib.Xsqlite3_bind_blob(c.tls, s.handle, 1, s.args, int32(n), 0)
	if b == nil || rc != lib.SQLITE_OK {
		return rc
	}
	return lib.Xsqlite3_bind_blob(c.tls, s.handle, 2, s.args+uintptr(n), int32(len(b)), 0)
}

// grow replaces the argument memory. Whatever was bound is bound anew before the next step.
func (s *stmt) grow(c *conn, need int) bool {
	libc.Xfree(c.tls, s.args)
	s.room = max(need, 2*s.room, 256)
	if s.room > keptRoom {
		s.room = max(need, keptRoom)
	}
	if s.args = libc.Xmalloc(c.tls, types.Size_t(s.room)); s.args == 0 {
		s.room = 0
	}
	return s.args != 0
}

// step runs the statement up to its next row (SQLITE_ROW) or its end (SQLITE_DONE).
func (s *stmt) step(c *conn) int32 { return lib.Xsqlite3_step(c.tls, s.handle) }

// reset ends a run. The result repeats the error of the last step.
func (s *stmt) reset(c *conn) {
	lib.Xsqlite3_reset(c.tls, s.handle)
	if s.room > keptRoom {
		libc.Xfree(c.tls, s.args)
		s.args, s.room = 0, 0
	}
}

// column returns column i of the row, in SQLite's memory: it holds until the next step and must not be written to.
func (s *stmt) column(c *conn, i int32) ([]byte, int32) {
	p := lib.Xsqlite3_column_blob(c.tls, s.handle, i)
	if p == 0 {
		// SQLite: an empty blob has no address, nor has one for which there was no memory.
		if lib.Xsqlite3_errcode(c.tls, c.db) == lib.SQLITE_NOMEM {
			return nil, lib.SQLITE_NOMEM
		}
		return nil, lib.SQLITE_OK
	}
	return libc.GoBytes(p, int(lib.Xsqlite3_column_bytes(c.tls, s.handle, i))), lib.SQLITE_OK
}

// finalize releases the statement. Finalizing it again does nothing.
func (s *stmt) finalize(c *conn) {
	lib.Xsqlite3_finalize(c.tls, s.handle)
	libc.Xfree(c.tls, s.args)
	*s = stmt{}
}

// stmt returns the prepared statement of kind k.
func (c *conn) stmt(k kind) (*stmt, int32) {
	s := &c.stmts[k]
	if s.handle == 0 {
		return s, s.prepare(c, statements[k], lib.SQLITE_PREPARE_PERSISTENT)
	}
	return s, lib.SQLITE_OK
}

// step binds key and value, steps the statement of kind k once, and returns it with the result. The caller resets it.
func (c *conn) step(k kind, key, value []byte) (*stmt, int32) {
	s, rc := c.stmt(k)
	if rc == lib.SQLITE_OK && key != nil {
		rc = s.bind(c, key, value)
	}
	if rc == lib.SQLITE_OK {
		rc = s.step(c)
	}
	return s, rc
}

// try runs the statement of kind k, which yields no rows, and waits for no lock.
func (c *conn) try(k kind, key, value []byte) int32 {
	s, rc := c.step(k, key, value)
	if s.handle != 0 {
		s.reset(c)
	}
	return rc
}

// run is try, waiting for the locks of others.
func (c *conn) run(w *waiter, k kind, key, value []byte) error {
	for {
		rc := c.try(k, key, value)
		if rc == lib.SQLITE_DONE {
			return nil
		}
		if !busy(rc) || !w.wait() {
			return w.failure(c.failure(rc))
		}
	}
}
