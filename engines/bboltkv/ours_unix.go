//go:build unix && !solaris && !illumos && !aix

package bboltkv

import (
	"os"
	"strconv"
	"syscall"
)

// addresses is how much the driver maps at first: 64 GiB where addresses have 64 bits, nothing to
// speak of elsewhere.
const addresses = 1 << (strconv.IntSize - 28)

// unlock frees bbolt's lock on f. Closing f does not, where bbolt panicked: the map that it left
// behind holds the lock.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
