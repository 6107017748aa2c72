package observe

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// holdersOf reads from the kernel who has locks of the files in roots.
func holdersOf(roots []string) ([]Holder, error) {
	names := map[string]string{} // by device and inode
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
			var st syscall.Stat_t
			if err == nil && syscall.Stat(name, &st) == nil {
				names[inode(&st)] = name
			}
			return nil
		})
	}
	file, err := os.Open("/proc/locks")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var list []Holder
	for lines := bufio.NewScanner(file); lines.Scan(); {
		h, where, ok := parseLock(lines.Text())
		if !ok || names[where] == "" {
			continue
		}
		h.File = names[where]
		if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", h.PID)); err == nil {
			h.Program = strings.TrimSpace(string(comm))
		}
		if i := slices.IndexFunc(list, func(l Holder) bool { return l.PID == h.PID && l.File == h.File }); i >= 0 {
			list[i].Write = list[i].Write || h.Write // several ranges of one file
		} else {
			list = append(list, h)
		}
	}
	return list, nil
}

// inode is how /proc/locks names a file.
func inode(st *syscall.Stat_t) string {
	return fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
}

// parseLock reads a line of /proc/locks, of a lock that is held and not waited for:
//
//	1: POSIX  ADVISORY  WRITE 1234 fe:00:5678 0 EOF
func parseLock(line string) (h Holder, where string, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 8 || fields[1] == "->" {
		return h, "", false
	}
	pid, err := strconv.Atoi(fields[4])
	if err != nil {
		return h, "", false
	}
	return Holder{PID: pid, Write: fields[3] == "WRITE"}, fields[5], true
}
