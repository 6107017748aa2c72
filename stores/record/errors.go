package record

import (
	"fmt"

	"github.com/assaydb/assay/kv"
)

func invalid(op string, err error, hint string) error {
	return &kv.Error{Op: op, Kind: kv.Invalid, Err: err, Hint: hint}
}

func conflict(op string, err error, hint string) error {
	return &kv.Error{Op: op, Kind: kv.Conflict, Err: err, Hint: hint}
}

func corrupt(format string, args ...any) error {
	return &kv.Error{Op: "read record", Kind: kv.Corrupt, Err: fmt.Errorf(format, args...), Hint: "restore a backup"}
}
