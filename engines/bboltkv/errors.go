package bboltkv

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"syscall"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/assaydb/assay/kv/driver"
)

const restore = "restore a backup, or name another file"

var kinds = []struct {
	err  error
	kind driver.Kind
	hint string
}{
	{berrors.ErrTimeout, driver.Busy, ""},
	{berrors.ErrInvalid, driver.Corrupt, restore},
	{berrors.ErrChecksum, driver.Corrupt, restore},
	{berrors.ErrVersionMismatch, driver.Corrupt, restore},
	{berrors.ErrInvalidMapping, driver.Corrupt, restore},
	{berrors.ErrDatabaseNotOpen, driver.Closed, ""},
	{berrors.ErrTxClosed, driver.Closed, ""},
	{berrors.ErrIncompatibleValue, driver.Invalid, "the name is that of a bucket, and a pair was meant, or the other way round"},
	{berrors.ErrMaxSizeReached, driver.Full, "open it with a larger MaxSize"},
}

// classify gives bbolt's errors a kind. Errors of the operating system are left to kv, which knows them.
func classify(err error) error {
	if err == nil {
		return nil
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return &driver.Error{Kind: k.kind, Err: err, Hint: k.hint}
		}
	}
	if strings.Contains(err.Error(), syscall.ENOSPC.Error()) { // bbolt: an error of growing the file is only a text
		return &driver.Error{Kind: driver.Full, Err: err, Hint: "free some space, or use another folder"}
	}
	return err
}

// classifyOpen is classify for Open, where an error that is not the operating system's is about the file's content.
func classifyOpen(err error, path string, o *options) error {
	info, serr := os.Stat(path)
	c := classify(err)
	switch {
	case o.bolt.ReadOnly && serr == nil && info.Size() == 0:
		return &driver.Error{Kind: driver.NoStore, Err: fmt.Errorf("%s is empty", path), Hint: "open it once without mode=ro"}
	case errors.Is(err, syscall.EISDIR):
		return &driver.Error{Kind: driver.Invalid, Err: err, Hint: "name a file, not a folder"}
	case c != err, errors.As(err, new(*fs.PathError)), errors.As(err, new(syscall.Errno)), driver.KindOf(err) != driver.Other:
		return c
	}
	return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: restore}
}

// commit commits tx. Its error is marked as not done where nothing is there and bbolt may go on: it refused the commit
// before it wrote anything, or the disk was full for pages that nobody needs yet. Where a sync has failed, or a write
// for another reason, what the system keeps in memory need no longer be what is on the disk.
func (f *file) commit(tx *bolt.Tx) (err error) {
	defer f.recovered(&err, protect())
	id := tx.ID()
	if err = tx.Commit(); err == nil {
		return nil
	}
	var path *fs.PathError
	written := strings.HasPrefix(err.Error(), "file resize error") || errors.As(err, &path) && path.Op == "write"
	c := classify(err)
	if errors.Is(err, berrors.ErrMaxSizeReached) || driver.KindOf(c) == driver.Full && written && f.last() < id {
		return driver.NotDone(c)
	}
	if f.wrapped {
		return c
	}
	return errors.Join(c, f.mark())
}

// last returns the id of the last commit that is visible: the write that failed may be that of the page that tells.
func (f *file) last() int {
	tx, err := f.db.Begin(readOnly)
	if err != nil {
		return math.MaxInt
	}
	defer tx.Rollback() // fails only after an end
	return tx.ID()
}
