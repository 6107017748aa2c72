package driver

import (
	"errors"
	"syscall"
)

// Numbers of the Windows API: ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL, ERROR_WRITE_PROTECT.
const (
	errHandleDiskFull = syscall.Errno(39)
	errDiskFull       = syscall.Errno(112)
	errWriteProtect   = syscall.Errno(19)
)

func isFull(err error) bool {
	return errors.Is(err, errDiskFull) || errors.Is(err, errHandleDiskFull)
}

func isReadOnlyFS(err error) bool { return errors.Is(err, errWriteProtect) }
