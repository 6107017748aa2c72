package bboltkv

import "io"

// A sync that failed leaves pages that everybody reads and no later sync writes, the page that names all others perhaps
// among them. Opened again, bbolt would take that for the state of the disk, and write into pages that the disk still
// needs. So a commit in doubt makes the file one byte longer than its pages, which bbolt does not mind and whoever opens
// it next sees for as long as those pages are in memory.

// mark marks the file as one to be healed.
func (f *file) mark() error {
	info, err := f.os.Stat()
	if err != nil || f.marked(info.Size()) {
		return err
	}
	return f.os.Truncate(info.Size() + 1)
}

// marked tells by the size of the file.
func (f *file) marked(size int64) bool { return size%int64(f.pageSize) != 0 }

// heal writes the whole file once more, of which pages up to used are in use: first what the two pages at its beginning
// name, then those.
func (f *file) heal(used, size int64) error {
	metas, page := 2*int64(f.pageSize), int64(f.pageSize)
	for _, part := range [][2]int64{{metas, used}, {0, metas}} {
		from, to := io.NewSectionReader(f.os, part[0], part[1]-part[0]), io.NewOffsetWriter(f.os, part[0])
		if _, err := io.Copy(to, from); err != nil {
			return err
		}
		if err := f.os.Sync(); err != nil {
			return err
		}
	}
	return f.os.Truncate(size - size%page)
}
