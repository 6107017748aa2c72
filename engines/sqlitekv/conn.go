package sqlitekv

import (
	"context"
	"errors"
	"syscall"
	"unsafe"

	"modernc.org/libc"
	_ "modernc.org/sqlite" // its init corrects the page size that lib assumes on some machines
	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv/driver"
)

// conn is one connection to the database. Whatever SQLite keeps a pointer to lies in memory that
// libc allocated, outside of Go's heap.
type conn struct {
	tls *libc.TLS
	db  uintptr // sqlite3*
}

// connect opens a connection. Even where SQLite fails there may be one, which holds the error and
// must be closed.
func connect(path string, flags int32, onSync driver.OnSync) (sqlite.Conn, error) {
	c := &conn{tls: libc.NewTLS()}
	vfs := c.vfs(onSync)
	db, rc := c.make(path, func(name, db uintptr) int32 { return lib.Xsqlite3_open_v2(c.tls, name, db, flags, vfs) })
	if c.db = db; rc == sqlite.OK {
		rc = lib.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	}
	if rc != sqlite.OK {
		return nil, errors.Join(c.Failure(rc), c.Close())
	}
	return c, nil
}

// make returns the pointer that call makes of a copy of text and writes to out.
func (c *conn) make(text string, call func(copied, out uintptr) int32) (made uintptr, rc int32) {
	const size = int(unsafe.Sizeof(made))
	copied, err := libc.CString(text)
	if err != nil {
		return 0, sqlite.NoMem
	}
	defer libc.Xfree(c.tls, copied)
	out := c.tls.Alloc(size)
	defer c.tls.Free(size)
	rc = call(copied, out)
	return *(*uintptr)(unsafe.Pointer(unsafe.SliceData(libc.GoBytes(out, size)))), rc
}

// Close ends the connection.
func (c *conn) Close() error {
	defer c.tls.Close()
	defer asking.Delete(c.tls)
	if rc := lib.Xsqlite3_close_v2(c.tls, c.db); rc != sqlite.OK {
		return c.Failure(rc)
	}
	return nil
}

// Written counts the pages that this connection has written.
func (c *conn) Written() int {
	const size = int(unsafe.Sizeof(int32(0)))
	out := c.tls.Alloc(2 * size)
	defer c.tls.Free(2 * size)
	lib.Xsqlite3_db_status(c.tls, c.db, lib.SQLITE_DBSTATUS_CACHE_WRITE, out, out+uintptr(size), 0)
	return int(*(*int32)(unsafe.Pointer(unsafe.SliceData(libc.GoBytes(out, size)))))
}

// Autocommit reports whether no transaction is open.
func (c *conn) Autocommit() bool { return lib.Xsqlite3_get_autocommit(c.tls, c.db) != 0 }

// Writable reports whether SQLite got the file open for writing.
func (c *conn) Writable() bool { return lib.Xsqlite3_db_readonly(c.tls, c.db, 0) == 0 }

// Failure makes an error of the result code of the last call.
func (c *conn) Failure(rc int32) error {
	text := lib.Xsqlite3_errstr(c.tls, rc)
	if lib.Xsqlite3_extended_errcode(c.tls, c.db)&0xff == rc&0xff {
		text = lib.Xsqlite3_errmsg(c.tls, c.db)
	}
	return sqlite.NewError(rc, libc.GoString(text), syscall.Errno(lib.Xsqlite3_system_errno(c.tls, c.db)))
}

// Interruptible runs fn, whose statements end with Interrupted when ctx ends.
func (c *conn) Interruptible(ctx context.Context, fn func() error) error {
	return sqlite.Interrupting(ctx, func() {
		tls := libc.NewTLS() // a TLS serves one goroutine at a time
		defer tls.Close()
		lib.Xsqlite3_interrupt(tls, c.db)
	}, fn)
}
