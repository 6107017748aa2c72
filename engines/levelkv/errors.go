package levelkv

import (
	"errors"
	"os"
	"runtime"
	"syscall"

	"github.com/syndtr/goleveldb/leveldb"
	lerrors "github.com/syndtr/goleveldb/leveldb/errors"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/assaydb/assay/kv/driver"
)

// classify turns an error of goleveldb into one of package driver. Errors of the operating system
// stay as they are: kv knows them.
func classify(err error) error {
	switch {
	case err == nil:
		return nil
	case err == leveldb.ErrNotFound:
		return driver.NotFound
	case errors.As(err, new(*lerrors.ErrCorrupted)), errors.As(err, new(*storage.ErrCorrupted)):
		return &driver.Error{Kind: driver.Corrupt, Err: err,
			Hint: "restore a backup, or save what is readable with leveldb.RecoverFile"}
	case errors.Is(err, leveldb.ErrClosed):
		return &driver.Error{Kind: driver.Closed, Err: err}
	case errors.Is(err, leveldb.ErrReadOnly):
		return &driver.Error{Kind: driver.NotWritable, Err: err}
	}
	return err
}

// classifyOpen makes Busy of the error for a folder that someone has open.
func classifyOpen(err error) error {
	var number syscall.Errno
	system, wrapped := errors.As(err, &number), errors.As(err, new(*os.PathError))
	// The bare number is that of the lock call itself; on Windows opening the lock's file is a
	// sharing violation.
	if system && (!wrapped && number == syscall.EAGAIN || runtime.GOOS == "windows" && number == 32) {
		return &driver.Error{Op: "open", Kind: driver.Busy, Err: err, Hint: "close the other handle first"}
	}
	return err
}
