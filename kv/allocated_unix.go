//go:build unix

package kv

import (
	"io/fs"
	"syscall"
)

// allocated returns the bytes in the file's allocated blocks, which stat counts in units of 512.
func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(st.Blocks) * 512
	}
	return info.Size()
}
