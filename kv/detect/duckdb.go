package detect

import (
	"encoding/binary"
	"fmt"
)

// duckdb reads the three headers of 4,096 bytes: the second and the third one tell, behind a sum,
// the number of the checkpoint, two blocks, how many blocks there are behind the headers and how
// large they are, in 8 bytes each, little-endian. The later one holds.
func duckdb(path string, head []byte, size int64) Found {
	const header, count, blockSize, defaultBlock = 4096, 32, 40, 256 << 10
	n := binary.LittleEndian
	found := Found{Engine: "duckdb", Format: fmt.Sprint(n.Uint64(head[12:])), State: Clean}
	if sizeOf(path+".wal") > 0 {
		found.State = Recovery
	}
	if len(head) < 3*header {
		return found.short("the file", size, 3*header)
	}
	last := head[header : 2*header]
	if second := head[2*header : 3*header]; n.Uint64(second[8:]) > n.Uint64(last[8:]) {
		last = second
	}
	block := int64(n.Uint64(last[blockSize:]))
	if block == 0 {
		block = defaultBlock
	}
	if want := 3*header + int64(n.Uint64(last[count:]))*block; size < want {
		return found.short("the file", size, want)
	}
	return found
}
