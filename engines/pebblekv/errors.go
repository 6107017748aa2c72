package pebblekv

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

// classify turns an error of Pebble into one of package driver. Errors of the operating system stay
// as they are: kv knows them.
func classify(err error) error {
	switch {
	case err == nil:
		return nil
	case err == pebble.ErrNotFound:
		return driver.NotFound
	case errors.Is(err, pebble.ErrBatchTooLarge): // marked as a corruption too
		return &driver.Error{Kind: driver.TooLarge, Err: err, Hint: "split the transaction"}
	case pebble.IsCorruptionError(err):
		return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: "restore a backup"}
	}
	return err
}

// classifyOpen is classify for Open, where what is no error of the operating system is one of the
// files' contents: Pebble marks only some of those as a corruption.
func classifyOpen(err error) error {
	var number syscall.Errno
	system, wrapped := errors.As(err, &number), errors.As(err, new(*os.PathError))
	switch {
	case errors.As(err, new(*driver.Error)), pebble.IsCorruptionError(err):
		return classify(err)
	// The bare numbers are those of the lock call itself; a folder that this process has open has
	// an error without a type.
	case number == syscall.EAGAIN && !wrapped, runtime.GOOS == "windows" && number == 32, // a sharing violation
		err.Error() == "lock held by current process":
		return &driver.Error{Op: "open", Kind: driver.Busy, Err: err, Hint: "close the other handle first"}
	case system && number != syscall.ENOTDIR && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return &driver.Error{Kind: driver.Corrupt, Err: err,
		Hint: "is it a folder of another program, or is a file gone? otherwise restore a backup"}
}
