package transfer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// Summary is what a store holds.
type Summary struct {
	Pairs  int64  `json:"pairs"`
	Bytes  int64  `json:"bytes"`  // of all keys and values
	Digest string `json:"digest"` // SHA-256 in hexadecimal; see the package's documentation
}

// digest makes a Summary, pair by pair.
type digest struct {
	pairs, bytes int64
	sum          hash.Hash
	buf          []byte
}

func newDigest() *digest { return &digest{sum: sha256.New()} }

func (d *digest) add(key, value []byte) {
	d.pairs++
	d.bytes += int64(len(key) + len(value))
	d.buf = append(binary.AppendUvarint(d.buf[:0], uint64(len(key))), key...)
	d.buf = binary.AppendUvarint(d.buf, uint64(len(value)))
	d.sum.Write(d.buf)
	d.sum.Write(value)
}

func (d *digest) summary() Summary {
	return Summary{Pairs: d.pairs, Bytes: d.bytes, Digest: hex.EncodeToString(d.sum.Sum(nil))}
}
