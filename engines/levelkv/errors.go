package levelkv

import (
	"errors"

	"github.com/syndtr/goleveldb/leveldb"
	lerrors "github.com/syndtr/goleveldb/leveldb/errors"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/assaydb/assay/kv/driver"
)

const hintCorrupt = "restore a backup, or save what is readable with leveldb.RecoverFile"

// classify turns an error of goleveldb into one of package driver. Errors of the operating system stay as they are: kv
// knows them.
func classify(err error) error {
	var damaged *lerrors.ErrCorrupted
	var damagedFile *storage.ErrCorrupted
	switch {
	case err == nil:
		return nil
	case err == leveldb.ErrNotFound:
		return driver.NotFound
	case errors.As(err, &damaged), errors.As(err, &damagedFile):
		return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: hintCorrupt}
	case errors.Is(err, leveldb.ErrClosed), errors.Is(err, leveldb.ErrSnapshotReleased), errors.Is(err, leveldb.ErrIterReleased):
		return &driver.Error{Kind: driver.Closed, Err: err}
	case errors.Is(err, leveldb.ErrReadOnly):
		return &driver.Error{Kind: driver.NotWritable, Err: err}
	}
	return err
}
