package buntkv

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// classify gives BuntDB's errors a kind. Errors of the operating system are left to kv, which knows
// them.
func classify(err error) error {
	var kind driver.Kind
	switch {
	case err == nil:
		return nil
	case errors.Is(err, buntdb.ErrInvalid):
		return corrupt(err)
	case errors.Is(err, buntdb.ErrDatabaseClosed), errors.Is(err, buntdb.ErrTxClosed):
		kind = driver.Closed
	case errors.Is(err, buntdb.ErrTxNotWritable):
		kind = driver.NotWritable
	case errors.Is(err, buntdb.ErrTxIterating):
		kind = driver.Invalid
	default:
		return err
	}
	return &driver.Error{Kind: kind, Err: err}
}

func classifyGet(err error) error {
	if err == buntdb.ErrNotFound {
		return driver.NotFound
	}
	return classify(err)
}

// classifyLoad is classify where an error that is not the operating system's is about the content of
// the file.
func classifyLoad(err error) error {
	var path *fs.PathError
	var errno syscall.Errno
	if err == nil || errors.As(err, &path) || errors.As(err, &errno) {
		return err
	}
	return corrupt(err)
}

func corrupt(cause any) error {
	return &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("bunt: %v", cause), Hint: "restore a backup, or name another file"}
}

// recovered makes an error of a panic: BuntDB's reader of files indexes into commands that it has not
// measured. Use: defer recovered(&err).
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = corrupt(p)
	}
}
