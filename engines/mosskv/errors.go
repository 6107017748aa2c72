package mosskv

import (
	"errors"
	"io/fs"

	"github.com/couchbase/moss"

	"github.com/assaydb/assay/kv/driver"
)

// classify turns an error of moss into one of package driver. Errors of the operating system stay
// as they are.
func classify(err error) error {
	switch {
	case errors.Is(err, moss.ErrSegmentCorrupted):
		return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: "restore a backup"}
	case errors.Is(err, moss.ErrClosed):
		return &driver.Error{Kind: driver.Closed, Err: err}
	}
	return err
}

// classifyOpen is classify for Open, where what is no error of the operating system is one of the
// files' contents.
func classifyOpen(err error) error {
	if err == nil || errors.As(err, new(*fs.PathError)) || driver.KindOf(err) != driver.Other {
		return classify(err)
	}
	return &driver.Error{Kind: driver.Corrupt, Err: err,
		Hint: "is it a folder of another program? otherwise restore a backup"}
}
