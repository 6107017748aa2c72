package bboltkv

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"

	"github.com/assaydb/assay/kv/driver"
)

// classify gives bbolt's errors a kind. Errors of the operating system are left to kv, which knows them.
func classify(err error) error {
	var kind driver.Kind
	var hint string
	switch {
	case err == nil:
		return nil
	case errors.Is(err, berrors.ErrTimeout):
		kind = driver.Busy
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum),
		errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrInvalidMapping):
		kind, hint = driver.Corrupt, "restore a backup, or name another file"
	case errors.Is(err, berrors.ErrDatabaseReadOnly), errors.Is(err, berrors.ErrTxNotWritable):
		kind = driver.NotWritable
	case errors.Is(err, berrors.ErrDatabaseNotOpen), errors.Is(err, berrors.ErrTxClosed):
		kind = driver.Closed
	case errors.Is(err, berrors.ErrKeyTooLarge), errors.Is(err, berrors.ErrValueTooLarge):
		kind = driver.TooLarge
	case errors.Is(err, berrors.ErrKeyRequired):
		kind = driver.Invalid
	case errors.Is(err, berrors.ErrIncompatibleValue):
		kind, hint = driver.Invalid, "the name belongs to a bucket that another program made"
	case errors.Is(err, berrors.ErrMaxSizeReached):
		kind, hint = driver.Full, "open it with a larger MaxSize"
	case strings.Contains(err.Error(), syscall.ENOSPC.Error()):
		// bbolt: errors of growing the file keep only the text of their cause.
		kind, hint = driver.Full, "free some space, or use another folder"
	default:
		return err
	}
	return &driver.Error{Kind: kind, Err: err, Hint: hint}
}

// classifyOpen is classify for Open, where an error that is not the operating system's is about the file's content.
func classifyOpen(err error) error {
	var path *fs.PathError
	var errno syscall.Errno
	c := classify(err)
	switch {
	case errors.Is(err, syscall.EISDIR):
		return &driver.Error{Kind: driver.Invalid, Err: err, Hint: "name a file, not a folder"}
	case err == nil, c != err, errors.As(err, &path), errors.As(err, &errno):
		return c
	}
	return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: "restore a backup, or name another file"}
}

func corrupt(cause any) error {
	return &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("bbolt: %v", cause),
		Hint: "restore a backup; the file was damaged, or cut short, outside of bbolt"}
}

// protect and recovered stand around everything that reads pages: bbolt trusts its pages, and panics or touches memory
// that is not mapped where they are damaged. Use: defer recovered(&err, protect()).
func protect() (old bool) { return debug.SetPanicOnFault(true) }

// recovered turns a panic into Corrupt and restores what protect returned.
func recovered(err *error, old bool) {
	if p := restore(old, recover()); p != nil {
		*err = corrupt(p)
	}
}

// recoveredStep is recovered for a cursor, which protects all its steps at once.
func recoveredStep(err *error) {
	if p := recover(); p != nil {
		*err = corrupt(p)
	}
}

// restore undoes protect and hands p on.
func restore(old bool, p any) any {
	debug.SetPanicOnFault(old)
	return p
}
