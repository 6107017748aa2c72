package pebblekv

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

// classify turns an error of Pebble into one of package driver. Errors of the operating system stay as they are: kv
// knows them.
func classify(err error) error {
	var known *driver.Error
	switch {
	case err == nil:
		return nil
	case err == pebble.ErrNotFound:
		return driver.NotFound
	case errors.As(err, &known):
		return err
	case errors.Is(err, pebble.ErrBatchTooLarge): // marked as a corruption too
		return &driver.Error{Kind: driver.TooLarge, Err: err, Hint: "split the transaction"}
	case pebble.IsCorruptionError(err):
		return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: "restore a backup"}
	case errors.Is(err, pebble.ErrClosed):
		return &driver.Error{Kind: driver.Closed, Err: err}
	case errors.Is(err, pebble.ErrReadOnly):
		return &driver.Error{Kind: driver.NotWritable, Err: err}
	}
	return err
}

// classifyOpen is classify for Open, where what is no error of the operating system is one of the files' contents:
// Pebble marks only some of those as a corruption.
func classifyOpen(err error) error {
	var number syscall.Errno
	if driver.KindOf(err) != driver.Other || errors.As(err, &number) || pebble.IsCorruptionError(err) {
		if errors.Is(err, fs.ErrNotExist) && !errors.As(err, new(*driver.Error)) {
			return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: "a file of the store is gone; restore a backup"}
		}
		return classify(err)
	}
	return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: "is it a folder of another program? otherwise restore a backup"}
}
