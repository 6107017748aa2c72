package detect

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// bbolt looks for the two meta pages, of which the second begins where the first one ends: a header
// of 16 bytes, then magic, version, size of a page, flags, root (16), freelist, high-water mark,
// transaction, and an FNV-1a sum of all before it (go.etcd.io/bbolt/internal/common/meta.go). The
// one of the later transaction holds, and all pages below its mark are in the file.
func bbolt(head []byte, size int64) Found {
	const magic, header, summed, pageAt, markAt, txAt = 0xED0CDAED, 16, 56, 8, 40, 48
	n := binary.LittleEndian
	whole, seen := 0, false
	var version uint32
	var used, page int64 // bytes
	var last uint64
	for at := 0; len(head) >= at+header+4; at = max(2*at, 512) { // pages of each size
		m := head[at+header:]
		if n.Uint32(m) != magic {
			continue
		}
		seen = true
		h := fnv.New64a()
		h.Write(m[:min(summed, len(m))])
		if len(m) < summed+8 || h.Sum64() != n.Uint64(m[summed:]) {
			continue
		}
		whole++
		version = n.Uint32(m[4:])
		if tx := n.Uint64(m[txAt:]); tx >= last {
			last, page = tx, int64(n.Uint32(m[pageAt:]))
			used = page * int64(n.Uint64(m[markAt:]))
		}
	}
	found := Found{Engine: "bbolt", State: Clean}
	if whole > 0 {
		found.Format = fmt.Sprint(version)
	}
	switch {
	case !seen:
		return Found{}
	case whole == 0:
		found.State, found.Detail = Damaged, "neither meta page is whole"
	case size < used:
		return found.short("the file", size, used)
	case whole == 1:
		found.State, found.Detail = Recovery, "one meta page is not whole; the other one holds"
	case page > 0 && size%page != 0: // the driver of this project marks a file so, of which a sync failed
		found.State, found.Detail = Recovery, "the file does not end with a page"
	}
	return found
}
