package sqlqueue

import (
	"fmt"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"
)

// conn is the connection that writes. It calls SQLite's C interface as modernc.org/sqlite/lib
// exports it: through database/sql half of the time of a call would go into its queries, arguments
// and columns. It is used by one goroutine at a time. Whatever SQLite keeps a pointer to lies in
// memory that libc allocated, outside of Go's heap.
type conn struct {
	tls        *libc.TLS
	db         uintptr // sqlite3*
	out        uintptr // room for the one pointer that a call writes its result to
	statements []stmt
}

const pointerSize = int(unsafe.Sizeof(uintptr(0)))

// failure is an error of SQLite, with its extended result code.
type failure struct {
	code int32
	text string
}

func (f *failure) Error() string { return fmt.Sprintf("%s (%d)", f.text, f.code) }

// Code is as that of the errors of modernc.org/sqlite.
func (f *failure) Code() int { return int(f.code) }

// connect opens the database at path, or creates it. It waits for no lock.
func connect(path string) (*conn, error) {
	name, err := libc.CString(path)
	if err != nil {
		return nil, err
	}
	c := &conn{tls: libc.NewTLS()}
	c.out = libc.Xmalloc(c.tls, types.Size_t(pointerSize))
	defer libc.Xfree(c.tls, name)
	clear(libc.GoBytes(c.out, pointerSize))
	rc := lib.Xsqlite3_open_v2(c.tls, name, c.out, lib.SQLITE_OPEN_READWRITE|lib.SQLITE_OPEN_CREATE|
		lib.SQLITE_OPEN_NOMUTEX, 0)
	c.db = c.result() // even where it failed
	if rc == lib.SQLITE_OK {
		rc = lib.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	}
	if rc != lib.SQLITE_OK {
		err := c.failure(rc)
		_ = c.close() // it never was open
		return nil, err
	}
	return c, nil
}

// result returns the pointer that the last call wrote to c.out.
func (c *conn) result() uintptr {
	return *(*uintptr)(unsafe.Pointer(unsafe.SliceData(libc.GoBytes(c.out, pointerSize))))
}

// failure makes an error of the result code of the last call.
func (c *conn) failure(rc int32) error {
	text := libc.GoString(lib.Xsqlite3_errstr(c.tls, rc))
	if c.db != 0 && lib.Xsqlite3_extended_errcode(c.tls, c.db) == rc {
		text = libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db))
	}
	return &failure{rc, text}
}

// close ends the connection and its statements.
func (c *conn) close() error {
	for _, s := range c.statements {
		lib.Xsqlite3_finalize(c.tls, s.handle)
		libc.Xfree(c.tls, s.args)
	}
	var err error
	if rc := lib.Xsqlite3_close_v2(c.tls, c.db); rc != lib.SQLITE_OK {
		err = c.failure(rc)
	}
	libc.Xfree(c.tls, c.out)
	c.tls.Close()
	return err
}

// prepare compiles the first statement of text, and returns where the next begins. The statement
// lasts as long as the connection.
func (c *conn) prepare(text string) (s stmt, rest string, err error) {
	memory, err := libc.CString(text)
	if err != nil {
		return nil, "", err
	}
	defer libc.Xfree(c.tls, memory)
	tail := libc.Xmalloc(c.tls, types.Size_t(pointerSize))
	defer libc.Xfree(c.tls, tail)
	if rc := lib.Xsqlite3_prepare_v3(c.tls, c.db, memory, -1, lib.SQLITE_PREPARE_PERSISTENT, c.out,
		tail); rc != lib.SQLITE_OK {
		return nil, "", c.failure(rc)
	}
	end := *(*uintptr)(unsafe.Pointer(unsafe.SliceData(libc.GoBytes(tail, pointerSize))))
	s = &statement{c: c, handle: c.result()}
	c.statements = append(c.statements, s)
	return s, text[end-memory:], nil
}

// keep prepares a statement.
func (c *conn) keep(text string) (stmt, error) {
	s, _, err := c.prepare(text)
	return s, err
}

// exec runs statements once and drops their rows.
func (c *conn) exec(text string) error {
	return c.query(text, func(row) {})
}

// query runs statements once and calls scan for each row.
func (c *conn) query(text string, scan func(row)) error {
	for text != "" {
		s, rest, err := c.prepare(text)
		if err != nil {
			return err
		}
		if s.handle != 0 { // it is 0 after the last
			err = s.each(scan)
		}
		lib.Xsqlite3_finalize(c.tls, s.handle)
		c.statements = c.statements[:len(c.statements)-1]
		if text = rest; err != nil {
			return err
		}
	}
	return nil
}

// integer returns the number in the one row that text yields.
func (c *conn) integer(text string) (n int64, err error) {
	err = c.query(text, func(r row) { n = r.integer(0) })
	return n, err
}
