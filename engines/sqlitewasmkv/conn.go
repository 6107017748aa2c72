package sqlitewasmkv

import (
	"context"
	"errors"
	"net/url"
	"runtime"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv/driver"
)

// conn is one connection to the database. go-sqlite3 has errors where SQLite has result codes: the
// last one is kept until its code comes back as the question for its text.
type conn struct {
	db   *sqlite3.Conn
	last error
	told told
}

// connect opens a connection.
func connect(path string, flags int32, onSync driver.OnSync) (sqlite.Conn, error) {
	open := sqlite3.OpenFlag(flags)
	if open&sqlite3.OPEN_URI == 0 && runtime.GOOS != "windows" {
		// go-sqlite3: without modeof a log or journal gets the permissions that the umask admits,
		// not the database's.
		open |= sqlite3.OPEN_URI
		path = (&url.URL{Scheme: "file", Path: path, RawQuery: "modeof=" + escaped(path)}).String()
	}
	t := told{onSync: onSync}
	if onSync != nil && open&sqlite3.OPEN_URI != 0 {
		path += t.register()
	}
	db, err := sqlite3.OpenFlags(path, open)
	if err != nil {
		vfs.Unregister(t.name)
		return nil, failure(code(err), err)
	}
	return &conn{db: db, told: t}, nil
}

// escaped writes path as the value of a URI's parameter. SQLite: a plus sign there is not a space.
func escaped(path string) string { return strings.ReplaceAll(url.QueryEscape(path), "+", "%20") }

// result keeps err and returns its result code.
func (c *conn) result(err error) int32 {
	if err != nil {
		c.last = err
	}
	return code(err)
}

// code returns the extended result code of an error of go-sqlite3.
func code(err error) int32 {
	if err == nil {
		return sqlite.OK
	}
	var extended sqlite3.ExtendedErrorCode
	if errors.As(err, &extended) {
		return int32(extended)
	}
	return sqliteError
}

// sqliteError is SQLITE_ERROR: what has no code of its own.
const sqliteError = 1

func failure(rc int32, err error) error {
	if rc&0xff == sqlite.NoMem {
		return tooLarge(err)
	}
	var system error
	if e := (*sqlite3.Error)(nil); errors.As(err, &e) {
		system = e.Unwrap()
	}
	return sqlite.NewError(rc, err.Error(), system)
}

// Close ends the connection.
func (c *conn) Close() error {
	defer vfs.Unregister(c.told.name)
	if err := c.db.Close(); err != nil {
		return failure(code(err), err)
	}
	return nil
}

// Written counts the pages that this connection has written.
func (c *conn) Written() int {
	n, _, _ := c.db.Status(sqlite3.DBSTATUS_CACHE_WRITE, false) // SQLite has it since 3.7.12
	return int(n)
}

// Autocommit reports whether no transaction is open.
func (c *conn) Autocommit() bool { return c.db.GetAutocommit() }

// Writable reports whether SQLite got the file open for writing.
func (c *conn) Writable() bool {
	readOnly, _ := c.db.ReadOnly("")
	return !readOnly
}

// Failure makes an error of the result code of the last call.
func (c *conn) Failure(rc int32) error {
	if c.last == nil || code(c.last) != rc {
		return failure(rc, sqlite3.ExtendedErrorCode(rc))
	}
	return failure(rc, c.last)
}

// Interruptible runs fn, whose statements end with Interrupted when ctx ends.
func (c *conn) Interruptible(ctx context.Context, fn func() error) error {
	defer c.db.SetInterrupt(c.db.SetInterrupt(ctx))
	return fn()
}
