package sqlitekv

import (
	"fmt"
	"syscall"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/kv/driver"
)

// busy reports whether rc is a lock that another connection holds, so that it is worth trying again.
func busy(rc int32) bool { return rc&0xff == lib.SQLITE_BUSY }

// failure makes an error of the result code of the last call on c.
func (c *conn) failure(rc int32) error {
	text := libc.GoString(lib.Xsqlite3_errstr(c.tls, rc))
	var errno syscall.Errno
	if c.db != 0 {
		if lib.Xsqlite3_extended_errcode(c.tls, c.db)&0xff == rc&0xff {
			text = libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db))
		}
		errno = syscall.Errno(lib.Xsqlite3_system_errno(c.tls, c.db))
	}
	return classify(rc, text, errno)
}

// classify makes an error of SQLite's extended result code, its message and the operating system's error.
func classify(rc int32, text string, errno syscall.Errno) error {
	e := &driver.Error{Kind: kindOf(rc), Err: fmt.Errorf("%s (%d)", text, rc)}
	if primary := rc & 0xff; errno != 0 && (primary == lib.SQLITE_IOERR || primary == lib.SQLITE_CANTOPEN) {
		e.Err = fmt.Errorf("%s (%d): %w", text, rc, errno)
		if e.Kind == driver.Other {
			e.Kind = driver.KindOf(errno)
		}
	}
	e.Hint = hints[e.Kind]
	return e
}

func kindOf(rc int32) driver.Kind {
	if rc == lib.SQLITE_IOERR_CORRUPTFS {
		return driver.Corrupt
	}
	switch rc & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return driver.Busy
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return driver.Corrupt
	case lib.SQLITE_FULL:
		return driver.Full
	case lib.SQLITE_READONLY:
		return driver.NotWritable
	case lib.SQLITE_PERM, lib.SQLITE_AUTH:
		return driver.Permission
	case lib.SQLITE_TOOBIG:
		return driver.TooLarge
	case lib.SQLITE_INTERRUPT:
		return driver.Canceled
	}
	return driver.Other
}

var hints = map[driver.Kind]string{
	driver.Busy:       "another process is using the database: wait longer with busy_timeout, or commit less at a time",
	driver.Corrupt:    "restore a backup, or save what is readable with: sqlite3 FILE .recover",
	driver.Full:       "free some space, or use another folder",
	driver.Permission: "use a file and folder that you may read and write",
	driver.TooLarge:   "SQLite keeps key and value together in at most 1,000,000,000 bytes",
}
