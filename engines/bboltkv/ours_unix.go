//go:build unix && !solaris && !illumos && !aix

package bboltkv

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// addresses is how much the driver maps at first: 64 GiB where addresses have 64 bits, nothing to
// speak of elsewhere.
const addresses = 1 << (strconv.IntSize - 28)

// unlock frees bbolt's lock on f. Closing f does not, where bbolt panicked: the map that it left
// behind holds the lock.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// readAhead tells the kernel whether it may read ahead in the map of size bytes. An advice that is
// refused changes nothing.
func readAhead(data uintptr, size int64, may bool) {
	advice := unix.MADV_RANDOM
	if may {
		advice = unix.MADV_NORMAL
	}
	_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), data)), size), advice)
}

// openFlat is os.OpenFile of a regular file. That one asks the kernel five times more, to find out
// that such a file cannot be waited for; a program that opens for each call pays for it each time.
func openFlat(name string, flag int, mode os.FileMode) (*os.File, error) {
	for {
		fd, err := syscall.Open(name, flag|syscall.O_CLOEXEC, uint32(mode.Perm()))
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), name), nil
		case syscall.EINTR:
		default:
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
	}
}
