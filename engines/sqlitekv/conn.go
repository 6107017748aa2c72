package sqlitekv

import (
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	_ "modernc.org/sqlite" // its init corrects the page size that lib assumes on some machines
	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/kv/driver"
)

// conn is one connection to the database. It is used by one goroutine at a time, so SQLite need not lock it.
// Whatever SQLite keeps a pointer to lies in memory that libc allocated, outside of Go's heap.
type conn struct {
	tls   *libc.TLS
	db    uintptr // sqlite3*
	out   uintptr // room for the one pointer that a call writes its result to
	level level   // the value of synchronous in force

	stmts   [kinds]stmt // prepared on first use
	cursors [shapes]*cursor

	reader reader // lent by Snapshot
	txn    txn    // lent by Begin
}

const pointerSize = int(unsafe.Sizeof(uintptr(0)))

// connect opens a connection and applies the session's settings. It waits for no lock.
func connect(path string, o *options) (*conn, error) {
	c := &conn{tls: libc.NewTLS(), level: levelFull}
	c.reader.c, c.txn.c = c, c
	c.out = libc.Xmalloc(c.tls, types.Size_t(pointerSize))
	rc := c.open(path, o)
	if rc == lib.SQLITE_OK {
		rc = lib.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	}
	if rc != lib.SQLITE_OK {
		err := c.failure(rc)
		c.close()
		return nil, err
	}
	for _, p := range o.session {
		if err := c.set(p); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// open calls sqlite3_open_v2. Even where it fails there may be a connection, which holds the error and must be closed.
func (c *conn) open(path string, o *options) int32 {
	flags := int32(lib.SQLITE_OPEN_READWRITE)
	if o.readOnly {
		flags = lib.SQLITE_OPEN_READONLY
	}
	if o.immutable {
		flags |= lib.SQLITE_OPEN_URI
		path = immutableURI(path)
	}
	name, err := libc.CString(path)
	if err != nil {
		return lib.SQLITE_NOMEM
	}
	defer libc.Xfree(c.tls, name)
	clear(libc.GoBytes(c.out, pointerSize))
	rc := lib.Xsqlite3_open_v2(c.tls, name, c.out, flags|lib.SQLITE_OPEN_NOMUTEX, 0)
	c.db = c.result()
	return rc
}

func immutableURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // file:///C:/dir/name
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: "immutable=1"}).String()
}

// result returns the pointer that the last call wrote to c.out.
func (c *conn) result() uintptr {
	return *(*uintptr)(unsafe.Pointer(unsafe.SliceData(libc.GoBytes(c.out, pointerSize))))
}

// close ends the connection. SQLite: the last one of a database checkpoints the log and removes the companion files.
func (c *conn) close() error {
	for k := range c.stmts {
		c.stmts[k].finalize(c)
	}
	for shape := range c.cursors {
		for cur := c.cursors[shape]; cur != nil; cur = cur.next {
			cur.stmt.finalize(c)
		}
		c.cursors[shape] = nil
	}
	var err error
	if rc := lib.Xsqlite3_close_v2(c.tls, c.db); rc != lib.SQLITE_OK {
		err = c.failure(rc)
	}
	libc.Xfree(c.tls, c.out)
	c.tls.Close()
	return err
}

// set gives a pragma its value. SQLite: one that it cannot take is no error, so verify reads it back.
func (c *conn) set(p pragma) error { return c.exec("PRAGMA " + p.name + " = " + p.value) }

// verify reads back what was asked for.
func (c *conn) verify(asked []pragma) error {
	for _, p := range asked {
		got, err := c.text("PRAGMA " + p.name)
		if err != nil {
			return err
		}
		if got != p.value {
			return refused(p.name, p.value, got)
		}
	}
	return nil
}

// setLevel makes l the value of synchronous. SQLite: it is fixed once a transaction has begun.
func (c *conn) setLevel(l level) error {
	if c.level == l {
		return nil
	}
	if err := c.exec("PRAGMA synchronous = " + l.String()); err != nil {
		return err
	}
	c.level = l
	return nil
}

// inTransaction reports whether a transaction is open. SQLite ends some by itself, on a full disk for one.
func (c *conn) inTransaction() bool { return lib.Xsqlite3_get_autocommit(c.tls, c.db) == 0 }

// rollback ends the transaction that is open, if one is.
func (c *conn) rollback() error {
	if !c.inTransaction() {
		return nil
	}
	return c.exec("ROLLBACK")
}

// writable reports whether SQLite got the file open for writing; without the right to it falls back to reading.
func (c *conn) writable() bool {
	return lib.Xsqlite3_db_readonly(c.tls, c.db, 0) == 0
}

// exec runs one statement of the program's own and drops its rows.
func (c *conn) exec(sql string) error {
	_, err := c.texts(sql)
	return err
}

// text returns what the one row of sql holds.
func (c *conn) text(sql string) (string, error) {
	rows, err := c.texts(sql)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0], nil
}

// integer returns the number that the one row of sql holds.
func (c *conn) integer(sql string) (int64, error) {
	text, err := c.text(sql)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// texts runs one statement and returns the first column of its rows. It waits for no lock.
func (c *conn) texts(sql string) ([]string, error) {
	var s stmt
	rc := s.prepare(c, sql, 0)
	if rc != lib.SQLITE_OK {
		return nil, c.failure(rc)
	}
	var rows []string
	for rc = s.step(c); rc == lib.SQLITE_ROW; rc = s.step(c) {
		rows = append(rows, libc.GoString(lib.Xsqlite3_column_text(c.tls, s.handle, 0)))
	}
	if rc != lib.SQLITE_DONE {
		err := c.failure(rc)
		s.finalize(c)
		return nil, err
	}
	s.finalize(c)
	return rows, nil
}

// textsWaiting is texts, waiting for locks of others.
func (c *conn) textsWaiting(w *waiter, sql string) ([]string, error) {
	for {
		rows, err := c.texts(sql)
		if err == nil || driver.KindOf(err) != driver.Busy {
			return rows, err
		}
		if !w.wait() {
			return nil, w.failure(err)
		}
	}
}
