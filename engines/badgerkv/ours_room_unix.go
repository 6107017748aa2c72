//go:build linux || darwin || freebsd

package badgerkv

import "golang.org/x/sys/unix"

// freeSpace returns the bytes that this user may still write to the file system of path.
func freeSpace(path string) (int64, error) {
	var s unix.Statfs_t
	err := unix.Statfs(path, &s)
	return int64(min(float64(s.Bavail)*float64(s.Bsize), 1<<62)), err
}
