package detect

import (
	"encoding/binary"
	"fmt"
)

// sqlite follows https://www.sqlite.org/fileformat2.html: a journal that is not empty and does not
// begin with a zero is to be rolled back.
func sqlite(path string, head []byte, size int64) Found {
	found := Found{Engine: "sqlite", State: Clean}
	if len(head) < 100 {
		found.State, found.Detail = Damaged, "the header is cut off"
		return found
	}
	if v := binary.BigEndian.Uint32(head[96:]); v > 0 {
		found.Format = fmt.Sprintf("3 (written by %d.%d.%d)", v/1_000_000, v/1000%1000, v%1000)
	}
	if first, _, _ := headOf(path+"-journal", 1); len(first) > 0 && first[0] != 0 {
		found.State, found.Detail = Recovery, "a transaction is to be rolled back"
		return found
	}
	log := sizeOf(path + "-wal")
	if log > 0 {
		found.State, found.Detail = Recovery, fmt.Sprintf("%d bytes in its write-ahead log", log)
	}
	return sqlitePages(found, head, size, log)
}

// sqlitePages looks whether all pages are there that the header tells of. Those that are not may be
// in the log, while that is copied into the file: a frame of it has a page and 24 bytes. Programs
// before SQLite 3.7.0 changed the file and not the number of its pages; then the two counters
// differ.
func sqlitePages(found Found, head []byte, size, log int64) Found {
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 1 << 16
	}
	if page < 512 || page&(page-1) != 0 {
		found.State, found.Detail = Damaged, fmt.Sprintf("its header tells of pages of %d bytes", page)
		return found
	}
	const logHeader, frameHeader = 32, 24
	logged := max(0, log-logHeader) / (page + frameHeader)
	changed, counted := binary.BigEndian.Uint32(head[24:]), binary.BigEndian.Uint32(head[92:])
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	switch {
	case changed == counted && size < (pages-logged)*page:
		return found.short("the file", size, pages*page)
	case log == 0 && size%page != 0:
		found.State, found.Detail = Damaged, "the file ends within a page"
	}
	return found
}
