//go:build cgo

package sqliteckv

// #include "sqlite.h"
// #cgo noescape sqlite3_get_autocommit
// #cgo nocallback sqlite3_get_autocommit
// #cgo noescape written
// #cgo nocallback written
// static int written(sqlite3 *db) {
// 	int n = 0, most;
// 	sqlite3_db_status(db, 9, &n, &most, 0); // SQLITE_DBSTATUS_CACHE_WRITE
// 	return n;
// }
import "C"

import (
	"context"
	"syscall"
	"unsafe"

	_ "github.com/mattn/go-sqlite3" // the code of SQLite

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv/driver"
)

// conn is one connection to the database.
type conn struct {
	db   *C.sqlite3
	told *told // nil where nobody asks for syncs
}

// connect opens a connection. Even where SQLite fails there may be one, which holds the error and
// must be closed.
func connect(path string, flags int32, onSync driver.OnSync) (sqlite.Conn, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	t, vfs := newTold(onSync)
	c := &conn{told: t}
	rc := C.sqlite3_open_v2(name, &c.db, C.int(flags), vfs)
	if rc == sqlite.OK {
		rc = C.sqlite3_extended_result_codes(c.db, 1)
	}
	if rc != sqlite.OK {
		err := c.Failure(int32(rc))
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection.
func (c *conn) Close() error {
	if rc := C.sqlite3_close_v2(c.db); rc != sqlite.OK {
		return c.Failure(int32(rc))
	}
	c.told.end()
	return nil
}

// Written counts the pages that this connection has written.
func (c *conn) Written() int { return int(C.written(c.db)) }

// Autocommit reports whether no transaction is open.
func (c *conn) Autocommit() bool { return C.sqlite3_get_autocommit(c.db) != 0 }

// Writable reports whether SQLite got the file open for writing.
func (c *conn) Writable() bool { return C.sqlite3_db_readonly(c.db, nil) == 0 }

// Failure makes an error of the result code of the last call.
func (c *conn) Failure(rc int32) error {
	text := C.sqlite3_errstr(C.int(rc))
	if int32(C.sqlite3_extended_errcode(c.db))&0xff == rc&0xff {
		text = C.sqlite3_errmsg(c.db)
	}
	return sqlite.NewError(rc, C.GoString(text), syscall.Errno(C.sqlite3_system_errno(c.db)))
}

// Interruptible runs fn, whose statements end with Interrupted when ctx ends.
func (c *conn) Interruptible(ctx context.Context, fn func() error) error {
	return sqlite.Interrupting(ctx, func() { C.sqlite3_interrupt(c.db) }, fn)
}
