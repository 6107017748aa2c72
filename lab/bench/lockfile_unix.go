//go:build unix

package bench

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the exclusive lock of the file until unlockFile.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// unlockFile releases the lock. Closing alone does not while a process that is just being started
// still holds a copy of the descriptor.
func unlockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
