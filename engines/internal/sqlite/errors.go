package sqlite

import (
	"cmp"
	"fmt"
	"syscall"

	"github.com/assaydb/assay/kv/driver"
)

// NewError makes an error of SQLite's extended result code, its message and the operating system's
// error, nil or number 0 if there was none.
func NewError(rc int32, text string, system error) error {
	primary := rc & 0xff
	e := &driver.Error{Kind: cmp.Or(kindsOf[rc], kindsOf[primary]), Err: fmt.Errorf("%s (%d)", text, rc)}
	switch {
	case named[rc] != nil:
		e.Err = fmt.Errorf("%w: %w", named[rc], e.Err)
	case system != nil && system != syscall.Errno(0) && (primary == IOErr || primary == CantOpen):
		e.Err = fmt.Errorf("%w: %w", e.Err, system)
		if e.Kind == driver.Other {
			e.Kind = driver.KindOf(system)
		}
	}
	e.Hint = hints[e.Kind]
	return e
}

// kindsOf are the kinds of codes, and of primary ones for the others of theirs; else it is Other.
var kindsOf = map[int32]driver.Kind{
	IOErrCorruptFS:   driver.Corrupt,
	ReadOnlyRollback: driver.Busy, // see abandoned
	Busy:             driver.Busy,
	Locked:           driver.Busy,
	Corrupt:          driver.Corrupt,
	NotADB:           driver.Corrupt,
	Full:             driver.Full,
	ReadOnly:         driver.NotWritable,
	Perm:             driver.Permission,
	Auth:             driver.Permission,
	TooBig:           driver.TooLarge,
	Constraint:       driver.Invalid, // of another program's table
	Interrupted:      driver.Canceled,
}

var hints = map[driver.Kind]string{
	driver.Corrupt:  "restore a backup, or save what is readable with: sqlite3 FILE .recover",
	driver.TooLarge: "SQLite keeps key and value together in at most 1,000,000,000 bytes",
}
