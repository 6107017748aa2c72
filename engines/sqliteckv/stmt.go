//go:build cgo

package sqliteckv

/*
#include "sqlite.h"

// A run is what passes between Go and C, in C's memory: the arguments of a statement and the
// columns of its row.
struct run {
	char *args;          // the first argument and behind it the second; SQLite reads them until the statement is reset
	int length[2];       // of the arguments, -1 for none
	int bind;            // the arguments are not bound yet
	const void *data[2]; // the columns
	int bytes[2];
};

static int step(sqlite3 *db, sqlite3_stmt *stmt, struct run *r, int columns) {
	int rc;
	if (r->bind) {
		r->bind = 0;
		char *next = r->args;
		for (int i = 0; i < 2 && r->length[i] >= 0; i++) {
			if ((rc = sqlite3_bind_blob(stmt, i + 1, next, r->length[i], NULL)) != 0)
				return rc;
			next += r->length[i];
		}
	}
	rc = sqlite3_step(stmt);
	if (rc == 1)
		return sqlite3_reset(stmt); // the code of the hook, which a step does not tell
	if (rc != 100)
		return rc;
	for (int i = 0; i < columns; i++) {
		r->data[i] = sqlite3_column_blob(stmt, i);
		// An empty blob has no address, nor has one for which there was no memory.
		if (r->data[i] == NULL && sqlite3_errcode(db) == 7)
			return 7;
		r->bytes[i] = sqlite3_column_bytes(stmt, i);
	}
	return rc;
}

#cgo noescape step
#cgo nocallback step
#cgo noescape sqlite3_reset
#cgo nocallback sqlite3_reset
*/
import "C"

import (
	"unsafe"

	"github.com/assaydb/assay/engines/internal/sqlite"
)

// stmt is a prepared statement.
type stmt struct {
	c      *conn
	handle *C.sqlite3_stmt
	run    *C.struct_run
	room   int // size of run.args
}

// What a statement allocates for its arguments at least, and keeps between calls at most.
const leastRoom, keptRoom = 256, 1 << 20

// Prepare compiles sql.
func (c *conn) Prepare(sql string, flags uint32) (sqlite.Stmt, int32) {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	s := &stmt{c: c}
	if rc := C.sqlite3_prepare_v3(c.db, text, -1, C.uint(flags), &s.handle, nil); rc != sqlite.OK {
		return nil, int32(rc)
	}
	s.run = (*C.struct_run)(C.calloc(1, C.sizeof_struct_run))
	return s, sqlite.OK
}

// Bind keeps copies of a and b as the arguments ?1 and ?2 of the next Step; a nil b is no argument.
func (s *stmt) Bind(a, b []byte) int32 {
	if need := len(a) + len(b); need > s.room || s.run.args == nil {
		C.free(unsafe.Pointer(s.run.args))
		s.room = max(need, leastRoom)
		s.run.args = (*C.char)(C.malloc(C.size_t(s.room))) // cgo: the program ends if there is no memory
	}
	args := unsafe.Slice((*byte)(unsafe.Pointer(s.run.args)), s.room)
	n := copy(args, a)
	copy(args[n:], b)
	s.run.length = [2]C.int{C.int(n), C.int(len(b))}
	if b == nil {
		s.run.length[1] = -1
	}
	s.run.bind = 1
	return sqlite.OK
}

// Step runs the statement up to its next row or its end; the columns are in SQLite's memory.
func (s *stmt) Step(columns int) (a, b []byte, rc int32) {
	rc = int32(C.step(s.c.db, s.handle, s.run, C.int(columns)))
	if s.c.told != nil {
		s.c.told.tell()
	}
	if rc != sqlite.Row {
		return nil, nil, rc
	}
	if columns > 0 {
		a = unsafe.Slice((*byte)(s.run.data[0]), s.run.bytes[0])
	}
	if columns > 1 {
		b = unsafe.Slice((*byte)(s.run.data[1]), s.run.bytes[1])
	}
	return a, b, rc
}

// Reset ends a run.
func (s *stmt) Reset() {
	C.sqlite3_reset(s.handle)
	if s.room > keptRoom {
		C.free(unsafe.Pointer(s.run.args))
		s.run.args = nil
	}
}

// Finalize releases the statement.
func (s *stmt) Finalize() {
	C.sqlite3_finalize(s.handle)
	C.free(unsafe.Pointer(s.run.args))
	C.free(unsafe.Pointer(s.run))
	*s = stmt{}
}
