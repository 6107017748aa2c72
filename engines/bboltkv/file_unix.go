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

// openFileOS is os.OpenFile without making the file non-blocking and back, and asking whether it
// can be polled: for a file on a disk that is five system calls for nothing, a twentieth of
// opening, reading and closing a store.
func openFileOS(name string, flag int, mode os.FileMode) (*os.File, error) {
	fd, err := syscall.Open(name, flag|syscall.O_CLOEXEC, uint32(mode.Perm()))
	for err == syscall.EINTR { // as file systems in user space let it
		fd, err = syscall.Open(name, flag|syscall.O_CLOEXEC, uint32(mode.Perm()))
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// names returns how many names a file has. One that another file was renamed over has none.
func names(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Nlink) }

// unlock frees bbolt's lock on f. Closing f does not, where bbolt panicked: the map that it left
// behind holds the lock.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
