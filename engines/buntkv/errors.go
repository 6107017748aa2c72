package buntkv

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/assaydb/assay/kv/driver"
)

// classify tells what BuntDB says of a file that it loads: if it is no error of the operating system it
// is about the content.
func classify(err error) error {
	var path *fs.PathError
	var errno syscall.Errno
	if err == nil || errors.As(err, &path) || errors.As(err, &errno) {
		return err
	}
	return corrupt(err)
}

func corrupt(cause any) error {
	return &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("bunt: %v", cause),
		Hint: "restore a backup, or name another file"}
}

// recovered makes an error of a panic: BuntDB's reader of files indexes into commands that it has not
// measured. Use: defer recovered(&err).
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = corrupt(p)
	}
}
