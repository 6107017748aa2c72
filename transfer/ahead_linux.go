package transfer

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// readAhead has the system read ahead in the files at path, a file or a folder, that this process
// has mapped. bbolt asks it not to, for the sake of those who look for single keys: of a file that
// is not in memory a walk then waits for each page of 4 KiB by itself. What fails leaves the walk
// slow.
func readAhead(path string) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }() // nothing was written
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		from, to, name, ok := mapped(lines.Text())
		if ok && (name == path || strings.HasPrefix(name, path+string(filepath.Separator))) {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, unix.MADV_NORMAL)
		}
	}
}

// mapped reads a line of /proc/self/maps: the addresses of a mapping, and the file that it is of.
func mapped(line string) (from, to uintptr, name string, ok bool) {
	fields := strings.SplitN(line, " ", 6) // addresses, rights, offset, device, inode, name
	if len(fields) < 6 {
		return 0, 0, "", false
	}
	low, high, _ := strings.Cut(fields[0], "-")
	first, err := strconv.ParseUint(low, 16, strconv.IntSize)
	if err != nil {
		return 0, 0, "", false
	}
	end, err := strconv.ParseUint(high, 16, strconv.IntSize)
	return uintptr(first), uintptr(end), strings.TrimLeft(fields[5], " "), err == nil && end > first
}
