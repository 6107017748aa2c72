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
	if err == nil {
		return nil
	}
	switch {
	case err == pebble.ErrNotFound:
		return driver.NotFound
	case errors.Is(err, pebble.ErrBatchTooLarge): // marked as a corruption too
		return &driver.Error{Kind: driver.TooLarge, Err: err, Hint: "split the transaction"}
	case pebble.IsCorruptionError(err):
		return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: "restore a backup"}
	}
	return err
}

// errSharingViolation is ERROR_SHARING_VIOLATION of the Windows API.
const errSharingViolation = syscall.Errno(32)

// classifyOpen is classify for Open, where what is no error of the operating system is one of the
// files' contents: Pebble marks only some of those as a corruption.
func classifyOpen(err error) error {
	var known *driver.Error
	var wrapped *os.PathError
	var number syscall.Errno
	system := errors.As(err, &number)
	switch {
	case errors.As(err, &known), pebble.IsCorruptionError(err):
		return classify(err)
	// The bare numbers are those of the lock call itself; a folder that this process has open has
	// an error without a type.
	case number == syscall.EAGAIN && !errors.As(err, &wrapped), runtime.GOOS == "windows" && number == errSharingViolation,
		err.Error() == "lock held by current process":
		return &driver.Error{Op: "open", Kind: driver.Busy, Err: err, Hint: "close the other handle first"}
	case errors.Is(err, fs.ErrNotExist):
		return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: "a file of the store is gone; restore a backup"}
	case system && number != syscall.ENOTDIR:
		return err
	}
	return &driver.Error{Kind: driver.Corrupt, Err: err,
		Hint: "is it a folder of another program? otherwise restore a backup"}
}
