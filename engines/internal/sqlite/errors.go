package sqlite

import (
	"fmt"
	"syscall"

	"github.com/assaydb/assay/kv/driver"
)

// busy reports whether rc is a lock that another connection holds, so that it is worth trying again.
func busy(rc int32) bool { return rc&0xff == Busy }

// NewError makes an error of SQLite's extended result code, its message and the operating system's error, nil if
// there was none.
func NewError(rc int32, text string, system error) error {
	e := &driver.Error{Kind: kindOf(rc), Err: fmt.Errorf("%s (%d)", text, rc)}
	if primary := rc & 0xff; system != nil && (primary == IOErr || primary == CantOpen) {
		e.Err = fmt.Errorf("%s (%d): %w", text, rc, system)
		if e.Kind == driver.Other {
			e.Kind = driver.KindOf(system)
		}
	}
	e.Hint = hints[e.Kind]
	return e
}

// SystemError is the operating system's error of a number, which is none if it is 0.
func SystemError(number int32) error {
	if number == 0 {
		return nil
	}
	return syscall.Errno(number)
}

func kindOf(rc int32) driver.Kind {
	if rc == IOErrCorruptFS {
		return driver.Corrupt
	}
	switch rc & 0xff {
	case Busy, Locked:
		return driver.Busy
	case Corrupt, NotADB:
		return driver.Corrupt
	case Full:
		return driver.Full
	case ReadOnly:
		return driver.NotWritable
	case Perm, Auth:
		return driver.Permission
	case TooBig:
		return driver.TooLarge
	case Interrupted:
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
