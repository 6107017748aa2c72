package bboltnested

import (
	"errors"
	"fmt"

	berrors "go.etcd.io/bbolt/errors"

	"github.com/assaydb/assay/kv"
)

var errClosed = &kv.Error{Kind: kv.Closed, Err: errors.New("the store is closed")}

// wrap gives bbolt's errors a kind and says what was done to what. An error that has a kind keeps it.
func wrap(op, path string, err error) error {
	var known *kv.Error
	if err == nil || errors.As(err, &known) && known.Op != "" {
		return err
	}
	e := &kv.Error{Op: op, Engine: "bbolt", Path: path, Kind: kv.KindOf(err), Err: err, Hint: kv.HintOf(err)}
	switch {
	case known != nil:
		e.Kind, e.Err = known.Kind, known.Err
	case errors.Is(err, berrors.ErrTimeout):
		e.Kind, e.Hint = kv.Busy, "close the other program"
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		e.Kind, e.Hint = kv.Corrupt, "restore a backup, or name another file"
	case errors.Is(err, berrors.ErrDatabaseNotOpen), errors.Is(err, berrors.ErrTxClosed):
		e.Kind = kv.Closed
	case errors.Is(err, berrors.ErrKeyTooLarge), errors.Is(err, berrors.ErrValueTooLarge):
		e.Kind = kv.TooLarge
	case errors.Is(err, berrors.ErrKeyRequired), errors.Is(err, berrors.ErrBucketNameRequired):
		e.Kind = kv.Invalid
	case errors.Is(err, berrors.ErrIncompatibleValue):
		e.Kind, e.Hint = kv.Corrupt, "the file was written by another program"
	}
	return e
}

// recovered turns bbolt's panic over a damaged page into Corrupt. It stands around calls of bbolt alone, never around
// the program's functions.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = damaged(p)
	}
}

// guard is recovered for the methods of a transaction, and wraps what they return.
func (b *backend) guard(op string, err *error) {
	if p := recover(); p != nil {
		*err = damaged(p)
	}
	if *err != nil && *err != error(kv.NotFound) {
		*err = wrap(op, b.store.path, *err)
	}
}

func damaged(cause any) error {
	return &kv.Error{Kind: kv.Corrupt, Err: fmt.Errorf("bbolt: %v", cause), Hint: "restore a backup"}
}
