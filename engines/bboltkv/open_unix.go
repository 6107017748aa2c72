//go:build unix

package bboltkv

import (
	"os"
	"syscall"
)

// openFileOS is os.OpenFile without making the file non-blocking and back, and asking whether it can be polled: for a
// file on a disk that is five system calls for nothing, a twentieth of opening, reading and closing a store.
func openFileOS(name string, flag int, mode os.FileMode) (*os.File, error) {
	var fd int
	err := uninterrupted(func() (err error) {
		fd, err = syscall.Open(name, flag|syscall.O_CLOEXEC, uint32(mode.Perm()))
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// uninterrupted repeats call while a signal interrupts it, as file systems in user space let it.
func uninterrupted(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}
