package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// diskOf returns what the kernel counts of the disk that holds path; nil where it counts no
// flushes: for file systems without a disk of their own (in memory, in layers, over the network),
// for disks that need none, and for volumes made of others.
func diskOf(path string) *Disk {
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil {
		return nil
	}
	return diskIn("/sys/dev/block", fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
}

// diskIn reads the disk of a device. Flushes are counted for whole disks, not for partitions.
func diskIn(devices, number string) *Disk {
	dir, err := filepath.EvalSymlinks(filepath.Join(devices, number))
	if err != nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
	}
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return nil
	}
	const flushes, milliseconds = 15, 16 // Linux 5.5, Documentation/block/stat.rst
	fields := strings.Fields(string(text))
	if len(fields) <= milliseconds {
		return nil
	}
	n, err := strconv.ParseInt(fields[flushes], 10, 64)
	if err != nil || n == 0 {
		return nil
	}
	ms, err := strconv.ParseInt(fields[milliseconds], 10, 64)
	if err != nil {
		return nil
	}
	return &Disk{Name: filepath.Base(dir), Flushes: n, FlushTime: time.Duration(ms) * time.Millisecond}
}
