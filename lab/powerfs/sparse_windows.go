package powerfs

import "io/fs"

// linkID is not told by the system without opening the file: two names become two files.
func linkID(fs.FileInfo) any { return nil }
