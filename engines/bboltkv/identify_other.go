//go:build !unix || solaris || illumos || aix

package bboltkv

import (
	"errors"
	"io/fs"
	"os"
)

// identify returns the size of f and whether path names it.
func identify(f *os.File, path string) (size int64, same bool, err error) {
	opened, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	named, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return opened.Size(), false, nil
	}
	return opened.Size(), os.SameFile(opened, named), err
}

// unlock does nothing: here bbolt's lock ends when f is closed.
func unlock(*os.File) error { return nil }
