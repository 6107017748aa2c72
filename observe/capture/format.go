package capture

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"time"
)

// magic begins a recording.
const magic = "assay recording\n"

// version is that of the format.
const version = 1

// blockHead is how many bytes stand before a block's content: its length and its CRC-32C.
const blockHead = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Info is what a recording says of itself, in its first block, as JSON.
type Info struct {
	Version int       `json:"version"`
	Engine  string    `json:"engine"` // that was recorded
	Started time.Time `json:"started"`
	Keys    Choice    `json:"keys"`
	Values  Choice    `json:"values"`
}

// The kinds of records.
const (
	kindPair     = 'P' // a pair that the store held at the start
	kindWrite    = 'W' // a batch
	kindGet      = 'G' // of the last committed state
	kindSnapshot = 'S' // a reader begins
	kindBegin    = 'B' // a transaction begins
	kindRead     = 'g' // a get of a reader or transaction
	kindLen      = 'n' // likewise, of the length alone
	kindWalk     = 'c' // steps of a cursor
	kindOp       = 'o' // a put or delete of a transaction
	kindRange    = 'r' // a deletion of a range
	kindCommit   = 'T'
	kindEndOf    = 'X' // of a reader or transaction
	kindCompact  = 'M'
	kindEnd      = 'E' // of the recording
)

// The flags of a walk.
const (
	walkSeek    = 1 << iota // it goes on with a cursor, from a key
	walkLast                // the cursor is closed
	walkReverse             //
	walkKeys                // values are not looked at
	walkStart               // the range has a start
	walkEnd                 // and an end
	walkEnded               // the last step found the end
)

// tokenBytes is how many bytes a token takes that stands for a value of n bytes.
func tokenBytes(kept bool, n int) int {
	if kept {
		return 4
	}
	return min(n, 8)
}

func appendToken(b []byte, kept bool, n int, token uint64) []byte {
	if !kept && n >= 8 {
		return binary.LittleEndian.AppendUint64(b, token)
	}
	var all [8]byte
	binary.LittleEndian.PutUint64(all[:], token)
	return append(b, all[:tokenBytes(kept, n)]...)
}

// cut leaves of a hash what a value of n bytes has room for.
func cut(hash uint64, n int) uint64 {
	if n < 8 {
		return hash & (1<<(8*n) - 1)
	}
	return hash
}

// AppendValue appends the value of n bytes that a replay has in place of the one with the token:
// the token itself, as far as it fits, and what follows from it.
func AppendValue(dst []byte, token uint64, n int) []byte {
	for state := token; n > 0; n -= 8 {
		var all [8]byte
		binary.LittleEndian.PutUint64(all[:], state)
		dst = append(dst, all[:min(n, 8)]...)
		state += 0x9e3779b97f4a7c15 // SplitMix64
		state = (state ^ state>>30) * 0xbf58476d1ce4e5b9
		state = (state ^ state>>27) * 0x94d049bb133111eb
		state ^= state >> 31
	}
	return dst
}

// Digest is of the pairs that a walk found: of their order, the lengths of keys and values, and the
// tokens of values. It is the same whether keys are hashed or not.
type Digest uint64

// Add adds a pair. Of a walk over keys alone, n and token are 0.
func (d *Digest) Add(key []byte, n int, token uint64) {
	x := token ^ bits.RotateLeft64(uint64(n), 20) ^ bits.RotateLeft64(uint64(len(key)), 48)
	*d = Digest(bits.RotateLeft64((uint64(*d)^x)*0x9e3779b97f4a7c15, 29))
}
