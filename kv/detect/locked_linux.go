package detect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// locked reports whether a process has a lock on the file, or on the folder or a file in it, by the
// kernel's list. Unlike a try to take the lock it keeps nobody out meanwhile.
func locked(path string) bool {
	list, err := os.ReadFile("/proc/locks")
	if err != nil {
		return false
	}
	paths := []string{path, path + "-shm"} // the second is where SQLite locks in WAL mode
	if inside, err := os.ReadDir(path); err == nil {
		for _, e := range inside {
			paths = append(paths, filepath.Join(path, e.Name()))
		}
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			continue
		}
		s, ok := info.Sys().(*syscall.Stat_t)
		if ok && strings.Contains(string(list), fmt.Sprintf(" %02x:%02x:%d ", unix.Major(s.Dev), unix.Minor(s.Dev),
			s.Ino)) {
			return true
		}
	}
	return false
}
