package result

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for _, key := range []string{"model name", "Model", "cpu model"} {
		if v := field(data, key); v != "" {
			return v
		}
	}
	return ""
}

func memory() int64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	kib, err := strconv.ParseInt(strings.TrimSuffix(field(data, "MemTotal"), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// field returns the value of the first line "key : value".
func field(data []byte, key string) string {
	for line := range bytes.Lines(data) {
		k, v, ok := bytes.Cut(line, []byte(":"))
		if ok && string(bytes.TrimSpace(k)) == key {
			return string(bytes.TrimSpace(v))
		}
	}
	return ""
}

func fileSystem(dir string) string {
	if m, ok := mountOf(dir); ok {
		return m.fileSystem
	}
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return ""
	}
	if name, ok := magics[uint32(s.Type)]; ok {
		return name
	}
	return fmt.Sprintf("%#x", uint32(s.Type))
}

// magics are the types that statfs(2) tells. It cannot tell ext4 from its predecessors.
var magics = map[uint32]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
	unix.F2FS_SUPER_MAGIC: "f2fs",
	unix.TMPFS_MAGIC:      "tmpfs", unix.RAMFS_MAGIC: "ramfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay",
	unix.FUSE_SUPER_MAGIC: "fuse",
	unix.NFS_SUPER_MAGIC:  "nfs", unix.V9FS_MAGIC: "9p", 0x2fc12fc1: "zfs",
}

func device(dir string) string {
	m, _ := mountOf(dir)
	return m.device
}

type mount struct{ point, fileSystem, device string }

// mountOf returns the mount that dir lies in.
func mountOf(dir string) (mount, bool) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return mount{}, false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return mount{}, false
	}
	return findMount(data, path)
}

// findMount returns the mount with the longest mount point that path lies under, of several on one
// point the last: it hides the others. The format of mountinfo is that of proc_pid_mountinfo(5).
func findMount(mountinfo []byte, path string) (best mount, ok bool) {
	lines := bufio.NewScanner(bytes.NewReader(mountinfo))
	for lines.Scan() {
		head, tail, found := strings.Cut(lines.Text(), " - ")
		before, after := strings.Fields(head), strings.Fields(tail)
		if !found || len(before) < 5 || len(after) < 2 {
			continue
		}
		m := mount{unescape(before[4]), after[0], unescape(after[1])}
		under := m.point == path || strings.HasPrefix(path, strings.TrimSuffix(m.point, "/")+"/")
		if under && len(m.point) >= len(best.point) {
			best, ok = m, true
		}
	}
	return best, ok
}

// unescape undoes \040 and its like.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
