package bench

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes the file's data durable, and of its metadata what is needed to read them.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
