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
	if err == nil {
		return nil
	}
	var damaged *lerrors.ErrCorrupted
	var damagedFile *storage.ErrCorrupted
	switch {
	case err == leveldb.ErrNotFound:
		return driver.NotFound
	case errors.As(err, &damaged), errors.As(err, &damagedFile):
		return &driver.Error{Kind: driver.Corrupt, Err: err,
			Hint: "restore a backup, or save what is readable with leveldb.RecoverFile"}
	case errors.Is(err, leveldb.ErrClosed), errors.Is(err, leveldb.ErrSnapshotReleased):
		return &driver.Error{Kind: driver.Closed, Err: err}
	case errors.Is(err, leveldb.ErrReadOnly):
		return &driver.Error{Kind: driver.NotWritable, Err: err}
	}
	return err
}

// lockFailure makes Busy of the error for a folder that someone has open.
func lockFailure(err error) error {
	// The bare numbers are those of the lock call itself; on Windows it is opening the lock's file
	// that fails.
	var wrapped *os.PathError
	var number syscall.Errno
	if errors.As(err, &number) && (!errors.As(err, &wrapped) && number == syscall.EAGAIN ||
		runtime.GOOS == "windows" && number == errSharingViolation) {
		return &driver.Error{Op: "open", Kind: driver.Busy, Err: err, Hint: "close the other handle first"}
	}
	return err
}

// errSharingViolation is ERROR_SHARING_VIOLATION of the Windows API.
const errSharingViolation = syscall.Errno(32)
