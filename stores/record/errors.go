package record

import (
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv"
)

// Duplicate is why a record was not stored: another one has its id, or its values in a unique
// index. It is in the Conflict that is returned, for [errors.As].
type Duplicate struct {
	Index string // "" is the id
	Owner ID     // of the record that is there
	what  string
}

// Error says what is there.
func (d *Duplicate) Error() string { return d.what }

func duplicate(op, what string, d Duplicate, hint string) error {
	d.what = what
	return conflict(op, &d, hint)
}

func invalid(op string, err error, hint string) error {
	return &kv.Error{Op: op, Kind: kv.Invalid, Err: err, Hint: hint}
}

func conflict(op string, err error, hint string) error {
	return &kv.Error{Op: op, Kind: kv.Conflict, Err: err, Hint: hint}
}

func corrupt(format string, args ...any) error {
	return &kv.Error{Op: "read record", Kind: kv.Corrupt, Err: fmt.Errorf(format, args...), Hint: "restore a backup"}
}

func isNotFound(err error) bool { return err != nil && errors.Is(err, kv.NotFound) }
