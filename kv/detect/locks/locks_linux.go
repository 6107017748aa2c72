package locks

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Held returns the locks that are held. It takes none, so that it keeps nobody out. Those that this
// process holds all the time that it takes are among them for certain, by its own list. Those of
// others are, unless hundreds of locks are taken and released at once: see read.
func Held() ([]Lock, error) {
	fd, err := unix.Open("/proc/locks", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/proc/locks", Err: err}
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	lines := own()
	for range 2 {
		some, whole, err := read(os.Getpagesize(), func(b []byte, at int64) (int, error) {
			return unix.Pread(fd, b, at)
		})
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: "/proc/locks", Err: err}
		}
		if lines = append(lines, some...); whole {
			break
		}
	}
	var list []Lock
	seen := map[string]bool{}
	for _, line := range lines {
		if l, ok := parse(line); ok && !seen[line] {
			list = append(list, l)
		}
		seen[line] = true
	}
	return list, nil
}

// own returns the lines of the locks that this process holds, from what the kernel tells of each
// open file.
func own() (lines []string) {
	const dir = "/proc/self/fdinfo"
	open, err := os.ReadDir(dir)
	if err != nil {
		return nil // the list of all is left
	}
	for _, e := range open {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // it is closed
		}
		for line := range strings.Lines(string(text)) {
			if lock, ok := strings.CutPrefix(line, "lock:"); ok {
				_, lock, _ = strings.Cut(strings.TrimSpace(lock), ": ")
				lines = append(lines, lock)
			}
		}
	}
	return lines
}

// ID is how the kernel's list names a file: by its device and inode. It is "" if there is none.
func ID(name string) string {
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		return ""
	}
	return fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
}

// parse reads what follows the number in a line of /proc/locks:
//
//	POSIX  ADVISORY  WRITE 1234 fe:00:5678 0 EOF
func parse(line string) (l Lock, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 7 {
		return l, false
	}
	pid, err := strconv.Atoi(fields[3])
	return Lock{PID: pid, Write: fields[2] == "WRITE", File: fields[4]}, err == nil
}

// mostFresh is how often the list may be begun again. Each time more than half of what two pieces
// share must have been released between two calls.
const mostFresh = 1000

var errTooFast = errors.New("the locks change faster than they can be read")

// read returns the lines of the locks that are held, without their numbers, and whether they are
// the whole list at one moment.
//
// The kernel gives at most a page in one call, whatever the buffer. A piece is the list as it is at
// that moment, from a place on. But the next call goes on at a number: if a lock before it was
// released meanwhile, all others have moved up, and one is left out. So each piece begins amid the
// last one, and counts only if it has at least half of what both should have. Locks that stay keep
// their order: what stood behind one of the last piece stands behind it in this one, too. If too
// much is gone the list is read from its head again.
//
// What is released and taken again between two pieces looks as if it had stayed, and may have come
// to stand behind one that was not read yet. It takes half of what two pieces share for one to be
// left out, in the same moment. Held reads a list of several pieces twice.
func read(page int, pread func(b []byte, at int64) (int, error)) (lines []string, whole bool, err error) {
	seen := map[string]bool{}
	buf := make([]byte, 64*page)
	at, shared, room, fresh := int64(0), 0, page, 0
	for {
		n, err := pread(buf, at)
		if err != nil {
			return nil, false, err
		}
		piece := split(buf[:n], at > 0)
		known := 0
		for _, e := range piece {
			if seen[e.line] {
				known++
			}
		}
		if at > 0 && 2*known < shared {
			if fresh++; fresh > mostFresh {
				return nil, false, errTooFast
			}
			at = 0
			continue
		}
		for _, e := range piece {
			if !seen[e.line] {
				seen[e.line] = true
				lines = append(lines, e.line)
			}
		}
		// It is the last piece if there was room for another lock in it, and nothing comes after.
		// A lock for which dozens wait may not fit into half a page: only the second tells then.
		full := 0
		if len(piece) > 0 {
			full = n - piece[0].offset
		}
		for room < full {
			room *= 2
		}
		if len(piece) <= 1 || full <= room-page/2 {
			more, err := pread(make([]byte, 1), at+int64(n))
			if more == 0 || err != nil {
				return lines, at == 0 && len(piece) != 1, err
			}
		}
		if len(piece) > 0 {
			middle := len(piece) / 2
			shared = len(piece) - middle
			// Of the line before, its end is read, and dropped.
			at = max(at+int64(piece[middle].offset)-1, 0)
		}
	}
}

// entry is the line of a lock, without its number, and where in the piece it begins.
type entry struct {
	line   string
	offset int
}

// split returns the locks of a piece that are held. Where it is cut the first line is not whole.
func split(piece []byte, cut bool) (list []entry) {
	for offset := 0; offset < len(piece); {
		line, _, _ := bytes.Cut(piece[offset:], []byte("\n"))
		_, text, _ := strings.Cut(string(line), ": ")
		if !(cut && offset == 0) && !strings.HasPrefix(strings.TrimLeft(text, " "), "->") {
			list = append(list, entry{text, offset})
		}
		offset += len(line) + 1
	}
	return list
}
