package pebblekv

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// looked is a table of a store that is only read. Where the sum of a block is wrong, Pebble v2.1.7
// tries whether one of its first 327,680 bits was turned over, with a sum of the whole block for
// each: of a block of a megabyte a minute, which no context ends. So the sum of a large block is
// looked at before Pebble gets the block. (A program that writes is spared that second sum.)
type looked struct{ vfs.File }

// isTable reports whether a file of Pebble's consists of blocks.
func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

// large is what a block must have that is looked at. Pebble reads nothing else of a table in so
// large parts.
const large = 64 << 10

// ReadAt reads a block with what stands behind it: its kind, a byte, and the sum of both in 4.
func (l looked) ReadAt(p []byte, at int64) (int, error) {
	n, err := l.File.ReadAt(p, at)
	if err == nil && len(p) > large && !summed(p[:len(p)-4], binary.LittleEndian.Uint32(p[len(p)-4:])) {
		err = fmt.Errorf("the block of %d bytes at %d has another sum: %w", len(p), at, pebble.ErrCorruption)
	}
	return n, err
}

// summed reports whether b has the sum, of one of the two kinds that Pebble knows.
func summed(b []byte, sum uint32) bool {
	const masked = 0xa282ead8
	c := crc32.Checksum(b, castagnoli)
	return sum == (c>>15|c<<17)+masked || sum == uint32(xxhash.Sum64(b))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
