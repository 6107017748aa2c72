//go:build unix

package powerfs

import (
	"io/fs"
	"syscall"
)

// linkID names the file that info is of, nil if it has one name only.
func linkID(info fs.FileInfo) any {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Nlink < 2 || info.IsDir() {
		return nil
	}
	return [2]uint64{uint64(stat.Dev), uint64(stat.Ino)} // their types differ from system to system
}
