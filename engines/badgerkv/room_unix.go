//go:build linux || darwin || freebsd

package badgerkv

import (
	"math"
	"math/bits"
	"os"

	"golang.org/x/sys/unix"
)

// freeSpace returns the bytes that this user may still write to the file system of path.
func freeSpace(path string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	if s.Bavail <= 0 {
		return 0, nil
	}
	hi, free := bits.Mul64(uint64(s.Bavail), uint64(s.Bsize))
	if hi > 0 || free > math.MaxInt64 {
		free = math.MaxInt64
	}
	return int64(free), nil
}
