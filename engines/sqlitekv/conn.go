package sqlitekv

import (
	"context"
	"syscall"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	_ "modernc.org/sqlite" // its init corrects the page size that lib assumes on some machines
	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/engines/internal/sqlite"
)

// conn is one connection to the database. Whatever SQLite keeps a pointer to lies in memory that libc allocated, outside
// of Go's heap.
type conn struct {
	tls *libc.TLS
	db  uintptr // sqlite3*
	out uintptr // room for the one pointer that a call writes its result to
}

var _ sqlite.Conn = (*conn)(nil)

const pointerSize = int(unsafe.Sizeof(uintptr(0)))

// connect opens a connection.
func connect(path string, flags int32) (sqlite.Conn, error) {
	c := &conn{tls: libc.NewTLS()}
	c.out = libc.Xmalloc(c.tls, types.Size_t(pointerSize))
	rc := c.open(path, flags)
	if rc == lib.SQLITE_OK {
		rc = lib.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	}
	if rc != lib.SQLITE_OK {
		err := c.Failure(rc)
		c.Close()
		return nil, err
	}
	return c, nil
}

// open calls sqlite3_open_v2. Even where it fails there may be a connection, which holds the error and must be closed.
func (c *conn) open(path string, flags int32) int32 {
	name, err := libc.CString(path)
	if err != nil {
		return lib.SQLITE_NOMEM
	}
	defer libc.Xfree(c.tls, name)
	clear(libc.GoBytes(c.out, pointerSize))
	rc := lib.Xsqlite3_open_v2(c.tls, name, c.out, flags, 0)
	c.db = c.result()
	return rc
}

// result returns the pointer that the last call wrote to c.out.
func (c *conn) result() uintptr {
	return *(*uintptr)(unsafe.Pointer(unsafe.SliceData(libc.GoBytes(c.out, pointerSize))))
}

// Close ends the connection.
func (c *conn) Close() error {
	var err error
	if rc := lib.Xsqlite3_close_v2(c.tls, c.db); rc != lib.SQLITE_OK {
		err = c.Failure(rc)
	}
	libc.Xfree(c.tls, c.out)
	c.tls.Close()
	return err
}

// Autocommit reports whether no transaction is open.
func (c *conn) Autocommit() bool { return lib.Xsqlite3_get_autocommit(c.tls, c.db) != 0 }

// Writable reports whether SQLite got the file open for writing.
func (c *conn) Writable() bool { return lib.Xsqlite3_db_readonly(c.tls, c.db, 0) == 0 }

// Failure makes an error of the result code of the last call.
func (c *conn) Failure(rc int32) error {
	text := libc.GoString(lib.Xsqlite3_errstr(c.tls, rc))
	if c.db == 0 {
		return sqlite.NewError(rc, text, nil)
	}
	if lib.Xsqlite3_extended_errcode(c.tls, c.db)&0xff == rc&0xff {
		text = libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db))
	}
	return sqlite.NewError(rc, text, syscall.Errno(lib.Xsqlite3_system_errno(c.tls, c.db)))
}

// Interruptible runs fn, whose statements end with Interrupted when ctx ends.
func (c *conn) Interruptible(ctx context.Context, fn func() error) error {
	return sqlite.Interrupting(ctx, func() {
		tls := libc.NewTLS() // a TLS serves one goroutine at a time
		defer tls.Close()
		lib.Xsqlite3_interrupt(tls, c.db)
	}, fn)
}
