package sqlqueue

import (
	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"
)

// stmt is a statement that is kept prepared.
type stmt = *statement

type statement struct {
	joined *joinedStatement // by database/sql; the rest is unused then

	c      *conn
	handle uintptr // sqlite3_stmt*
	args   uintptr // memory for texts and blobs; SQLite reads it until the statement is reset
	room   int     // size of args
}

// keptRoom is how much memory for arguments a statement keeps between runs.
const keptRoom = 1 << 20

// run runs the statement, whose arguments are int, int64, string, []byte or nil, and returns how
// many rows it changed if it is one that does.
func (s *statement) run(args ...any) (changed int, err error) {
	if s.joined != nil {
		return s.joined.run(args)
	}
	if err := s.each(nil, args...); err != nil {
		return 0, err
	}
	return int(lib.Xsqlite3_changes(s.c.tls, s.c.db)), nil
}

// each runs the statement and calls scan for each row. SQLite: one that changes something has done
// so before its first row, but commits after its last.
func (s *statement) each(scan func(row), args ...any) error {
	if s.joined != nil {
		return s.joined.each(scan, args)
	}
	rc := s.bind(args)
	if rc == lib.SQLITE_OK {
		for rc = lib.Xsqlite3_step(s.c.tls, s.handle); rc == lib.SQLITE_ROW; rc = lib.Xsqlite3_step(s.c.tls, s.handle) {
			if scan != nil {
				scan(row{s: s})
			}
		}
	}
	var err error
	if rc != lib.SQLITE_DONE {
		err = s.c.failure(rc)
	}
	lib.Xsqlite3_reset(s.c.tls, s.handle) // tells the same error again
	if s.room > keptRoom {
		s.free()
	}
	return err
}

// bind sets the arguments, from the first on.
func (s *statement) bind(args []any) int32 {
	need := 1 // an empty blob has an address
	for _, arg := range args {
		switch v := arg.(type) {
		case string:
			need += len(v)
		case []byte:
			need += len(v)
		}
	}
	if need > s.room && !s.grow(need) {
		return lib.SQLITE_NOMEM
	}
	memory, used := libc.GoBytes(s.args, s.room), 0
	for i, arg := range args {
		var rc int32
		n := int32(i + 1)
		switch v := arg.(type) {
		case nil:
			rc = lib.Xsqlite3_bind_null(s.c.tls, s.handle, n)
		case int64:
			rc = lib.Xsqlite3_bind_int64(s.c.tls, s.handle, n, v)
		case int:
			rc = lib.Xsqlite3_bind_int64(s.c.tls, s.handle, n, int64(v))
		case string:
			copy(memory[used:], v)
			rc = lib.Xsqlite3_bind_text(s.c.tls, s.handle, n, s.args+uintptr(used), int32(len(v)), 0)
			used += len(v)
		case []byte:
			copy(memory[used:], v)
			rc = lib.Xsqlite3_bind_blob(s.c.tls, s.handle, n, s.args+uintptr(used), int32(len(v)), 0)
			used += len(v)
		default:
			rc = lib.SQLITE_MISUSE
		}
		if rc != lib.SQLITE_OK {
			return rc
		}
	}
	return lib.SQLITE_OK
}

// grow replaces the memory for arguments.
func (s *statement) grow(need int) bool {
	s.free()
	room := max(need, 512)
	if s.args = libc.Xmalloc(s.c.tls, types.Size_t(room)); s.args != 0 {
		s.room = room
	}
	return s.args != 0
}

// free releases the memory for arguments. Whatever was bound is bound anew before the next run.
func (s *statement) free() {
	libc.Xfree(s.c.tls, s.args)
	s.args, s.room = 0, 0
}

// row is the row at which a statement is.
type row struct {
	s      *statement
	values []any // of a joined statement, in place of s
}

// integer returns column i as a number, 0 if it is NULL.
func (r row) integer(i int32) int64 {
	if r.values != nil {
		return r.timeOr(i, 0)
	}
	return lib.Xsqlite3_column_int64(r.s.c.tls, r.s.handle, i)
}

// timeOr returns column i as a number, or none if it is NULL.
func (r row) timeOr(i int32, none int64) int64 {
	if r.values != nil {
		if n, ok := r.values[i].(int64); ok {
			return n
		}
		return none
	}
	if lib.Xsqlite3_column_type(r.s.c.tls, r.s.handle, i) == lib.SQLITE_NULL {
		return none
	}
	return r.integer(i)
}

// blob returns a copy of column i, nil if it is empty.
func (r row) blob(i int32) []byte {
	if r.values != nil {
		return joinedBlob(r.values[i])
	}
	p := lib.Xsqlite3_column_blob(r.s.c.tls, r.s.handle, i)
	if p == 0 {
		return nil
	}
	return append([]byte(nil), libc.GoBytes(p, int(lib.Xsqlite3_column_bytes(r.s.c.tls, r.s.handle, i)))...)
}
