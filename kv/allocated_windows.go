package kv

import "io/fs"

// allocated returns the length of the file: Windows' stat does not tell the allocated size.
func allocated(info fs.FileInfo) int64 { return info.Size() }
