//go:build cgo

package sqlite

// #include "cross.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// engine is the name in errors.
const engine = "sqlite-c"

// A Code is a result code of SQLite, primary or extended: https://sqlite.org/rescode.html. It is an
// error itself: errors.Is(err, sqlite.Constraint) holds for every constraint,
// errors.Is(err, sqlite.ConstraintUnique) for one that is unique.
type Code int32

// Codes that programs ask for. Any other is Code(n).
const (
	Failed               Code = 1 // of a statement that is wrong, too
	Ended                Code = 4 // a blob whose row was changed, rows of a transaction that was rolled back
	Locked               Code = 6
	Busy                 Code = 5
	BusySnapshot         Code = 517
	NoMemory             Code = 7
	ReadOnly             Code = 8
	Interrupted          Code = 9
	IOError              Code = 10
	Damaged              Code = 11
	Full                 Code = 13
	CannotOpen           Code = 14
	TooBig               Code = 18
	Constraint           Code = 19
	ConstraintCheck      Code = 275
	ConstraintForeignKey Code = 787
	ConstraintNotNull    Code = 1299
	ConstraintPrimaryKey Code = 1555
	ConstraintTrigger    Code = 1811
	ConstraintUnique     Code = 2067
	ConstraintRowID      Code = 2579
	ConstraintDataType   Code = 3091
	Mismatch             Code = 20
	Misuse               Code = 21
	Unauthorized         Code = 23
	OutOfRange           Code = 25
	NotADatabase         Code = 26

	rcOK, rcRow, rcDone, rcNeed = 0, 100, 101, -1
)

func (c Code) Error() string { return C.GoString(C.sqlite3_errstr(C.int(c))) }

// Code returns the number, as the errors of modernc.org/sqlite do.
func (c Code) Code() int { return int(c) }

// Is reports whether target is c's primary code.
func (c Code) Is(target error) bool {
	t, ok := target.(Code)
	return ok && (t == c || t == c&0xff)
}

// CodeOf returns the extended code of the SQLite error in err's chain, or 0.
func CodeOf(err error) Code {
	var c Code
	errors.As(err, &c)
	return c
}

// kinds are the kinds of primary codes; of the others it is Other.
var kinds = map[Code]kv.Kind{
	Failed:       kv.Invalid,
	Busy:         kv.Busy,
	Locked:       kv.Busy,
	Damaged:      kv.Corrupt,
	NotADatabase: kv.Corrupt,
	Full:         kv.Full,
	ReadOnly:     kv.NotWritable,
	3:            kv.Permission,
	Unauthorized: kv.Permission,
	TooBig:       kv.TooLarge,
	Ended:        kv.Closed,
	15:           kv.Busy, // too many tries for the locks of the log
	Constraint:   kv.Conflict,
	Mismatch:     kv.Invalid,
	Misuse:       kv.Invalid,
	OutOfRange:   kv.Invalid,
	Interrupted:  kv.Canceled,
}

// kindOf returns the kind of a code.
func kindOf(c Code) kv.Kind {
	if c == BusySnapshot {
		return kv.Aborted
	}
	if c == 10|33<<8 { // the file system says so
		return kv.Corrupt
	}
	return kinds[c&0xff]
}

var hints = map[kv.Kind]string{
	kv.Corrupt: "restore a backup, or save what is readable with: sqlite3 FILE .recover",
	kv.Aborted: "another connection committed after this transaction had read: begin it with Immediate",
}

// failure makes an error of a result code of the last call. The end of ctx is the cause of an
// interrupt, and of a lock that was not waited for any longer.
func (c *Conn) failure(ctx context.Context, op string, rc C.int) error {
	if err := c.panicked(op); err != nil {
		return err
	}
	code := Code(rc)
	e := &kv.Error{Op: op, Engine: engine, Path: c.path, Kind: kindOf(code)}
	e.Hint = hints[e.Kind]
	text := C.sqlite3_errstr(rc)
	if c.c.db != nil && Code(C.sqlite3_extended_errcode(c.c.db))&0xff == code&0xff {
		text = C.sqlite3_errmsg(c.c.db)
	}
	if message := C.GoString(text); message == code.Error() {
		e.Err = fmt.Errorf("%w (%d)", code, code)
	} else {
		e.Err = &described{code, fmt.Sprintf("%s (%d)", message, code)}
	}
	var ended error
	switch code & 0xff {
	case Interrupted, Busy: // also while it waited for a lock
		ended = ctx.Err()
	}
	number := syscall.Errno(C.sqlite3_system_errno(c.c.db))
	switch {
	case ended != nil:
		e.Kind, e.Hint, e.Err = kv.Canceled, "", fmt.Errorf("%w: %w", ended, e.Err)
	case number != 0 && (code&0xff == IOError || code&0xff == CannotOpen):
		e.Err = fmt.Errorf("%w: %w", e.Err, number)
		if e.Kind == driver.Other {
			e.Kind = driver.KindOf(number)
		}
		if number == syscall.EISDIR {
			e.Kind = kv.Invalid
		}
	}
	return e
}

// described is a code with what SQLite says of it.
type described struct {
	code Code
	text string
}

func (e *described) Error() string { return e.text }
func (e *described) Unwrap() error { return e.code }

// invalid is the error of a wrong use.
func (c *Conn) invalid(op, hint, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &kv.Error{Op: op, Engine: engine, Path: c.path, Kind: kv.Invalid, Hint: hint, Err: err}
}
