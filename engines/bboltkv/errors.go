package bboltkv

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

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
	{berrors.ErrIncompatibleValue, driver.Invalid, "the name is a bucket's, or a pair's where a bucket is meant"},
	{berrors.ErrMaxSizeReached, driver.Full, "open it with a larger MaxSize"},
}

// classify gives bbolt's errors a kind. Errors of the operating system are left to kv, which knows
// them.
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

// classifyOpen is classify for Open, where an error that is not the operating system's is about the
// file's content.
func classifyOpen(err error, path string, o *options) error {
	info, serr := os.Stat(path)
	c := classify(err)
	switch {
	case o.bolt.ReadOnly && serr == nil && info.Size() == 0:
		return &driver.Error{Kind: driver.NoStore, Err: errors.New("an empty file"), Hint: "open it once without mode=ro"}
	case errors.Is(err, syscall.EISDIR):
		return &driver.Error{Kind: driver.Invalid, Err: err, Hint: "name a file, not a folder"}
	case c != err, driver.KindOf(err) != driver.Other,
		errors.As(err, new(*fs.PathError)), errors.As(err, new(syscall.Errno)):
		return c
	}
	return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: restore}
}
