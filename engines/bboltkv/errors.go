package bboltkv

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	bolt "go.etcd.io/bbolt"
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
	case errors.Is(err, berrors.ErrDatabaseNotOpen), errors.Is(err, berrors.ErrTxClosed):
		kind = driver.Closed
	case errors.Is(err, berrors.ErrIncompatibleValue):
		kind, hint = driver.Invalid, "the name belongs to a bucket that another program made, or to a pair"
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

// commit commits tx.
func (f *file) commit(tx *bolt.Tx) (err error) {
	defer f.recovered(&err, protect())
	id := tx.ID()
	if err := tx.Commit(); err != nil {
		return f.outcome(err, id)
	}
	return nil
}

// outcome marks err, of the commit with the id, where nothing is there and bbolt may go on: it refused the commit before
// it wrote anything, or the disk was full for pages that nobody needs yet. Where a sync has failed, or a write for
// another reason, what the system keeps in memory need no longer be what is on the disk.
func (f *file) outcome(err error, id int) error {
	c := classify(err)
	var path *fs.PathError
	grow := strings.HasPrefix(err.Error(), "file resize error")
	write := errors.As(err, &path) && path.Op == "write"
	switch {
	case errors.Is(err, berrors.ErrMaxSizeReached):
		return driver.NotDone(c)
	case driver.KindOf(c) == driver.Full && (grow || write) && f.last() < id:
		return driver.NotDone(c)
	}
	return c
}

// last returns the id of the last commit that is visible. A write of the page that says so may have failed, too.
func (f *file) last() int {
	tx, err := f.db.Begin(readOnly)
	if err != nil {
		return int(^uint(0) >> 1)
	}
	defer tx.Rollback() // fails only after an end
	return tx.ID()
}
