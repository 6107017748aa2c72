//go:build unix && !solaris && !illumos && !aix

package bboltkv

import (
	"os"
	"syscall"
)

// identify returns the size of f and whether path, where it was opened, still names it. One call tells both, since a
// file that another one was renamed over has no link left: this is part of every opening.
func identify(f *os.File, _ string) (size int64, same bool, err error) {
	var opened syscall.Stat_t
	err = uninterrupted(func() error { return syscall.Fstat(int(f.Fd()), &opened) })
	return opened.Size, opened.Nlink > 0, err
}

// unlock frees bbolt's lock on f. Closing f does not, where bbolt panicked: the map that it left behind holds the lock.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
