package workdir

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// leastMemory is what a file system in memory must have free: engines make large, sparse files.
const leastMemory = 4 << 30

// Memory returns a folder in memory for stores that are only opened and compared, "" if there is
// none: there, a sync costs nothing.
func Memory() string {
	const dir, magic = "/dev/shm", 0x01021994
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil || st.Type != magic || int64(st.Bavail)*st.Bsize < leastMemory {
		return ""
	}
	return filepath.Join(dir, fmt.Sprintf("assay-%d", os.Geteuid()))
}
