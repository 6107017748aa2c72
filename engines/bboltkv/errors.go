package bboltkv

import (
	"errors"
	"strings"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"

	"github.com/assaydb/assay/kv/driver"
)

// classify gives bbolt's errors a kind. Errors of the operating system are left to kv, which knows
// them.
func classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, berrors.ErrTimeout):
		return &driver.Error{Kind: driver.Busy, Err: err}
	case errors.Is(err, berrors.ErrIncompatibleValue):
		return &driver.Error{Kind: driver.Invalid, Err: err,
			Hint: "a bucket has that name, or a pair where one is meant"}
	case errors.Is(err, berrors.ErrMaxSizeReached):
		return &driver.Error{Kind: driver.Full, Err: err, Hint: "open it with a larger MaxSize"}
	case strings.Contains(err.Error(), syscall.ENOSPC.Error()): // bbolt: an error of growing the file is only a text
		return &driver.Error{Kind: driver.Full, Err: err, Hint: "free some space, or use another folder"}
	}
	return err
}
