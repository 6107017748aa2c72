package powerfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// nextData returns the next range of file that is not a hole, from off on: both are size if there
// is none.
func nextData(file *os.File, off, size int64) (data, hole int64, err error) {
	fd := int(file.Fd())
	data, err = unix.Seek(fd, off, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size, nil
	case errors.Is(err, unix.EINVAL):
		return off, size, nil // a file system that does not know
	case err != nil:
		return 0, 0, err
	}
	if hole, err = unix.Seek(fd, data, unix.SEEK_HOLE); err != nil {
		return 0, 0, err
	}
	return min(data, size), min(hole, size), nil
}
