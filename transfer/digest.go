package transfer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"sync"
)

// Summary is what a store holds.
type Summary struct {
	Pairs  int64  `json:"pairs"`
	Bytes  int64  `json:"bytes"`  // of all keys and values
	Digest string `json:"digest"` // SHA-256 in hexadecimal; see the package's documentation
}

// digest makes a Summary, pair by pair. It hashes while its caller reads on: a part of what was
// added waits in buf, and another one is hashed.
type digest struct {
	pairs, bytes int64
	sum          hash.Hash
	buf, other   []byte
	hashing      sync.WaitGroup // a goroutine that hashes other, and ends then
}

// part is how many bytes are hashed at once. A value that is larger is not kept for it.
const part = 128 << 10

func newDigest() *digest { return &digest{sum: sha256.New()} }

func (d *digest) add(key, value []byte) {
	d.pairs++
	d.bytes += int64(len(key) + len(value))
	d.buf = append(binary.AppendUvarint(d.buf, uint64(len(key))), key...)
	d.buf = binary.AppendUvarint(d.buf, uint64(len(value)))
	if len(value) < part {
		d.buf = append(d.buf, value...)
	}
	switch {
	case len(value) >= part:
		d.all().Write(value)
	case len(d.buf) >= part:
		d.hashing.Wait()
		d.buf, d.other = d.other[:0], d.buf
		d.hashing.Go(func() { d.sum.Write(d.other) })
	}
}

// all returns the hash of all that was added.
func (d *digest) all() hash.Hash {
	d.hashing.Wait()
	d.sum.Write(d.buf)
	d.buf = d.buf[:0]
	return d.sum
}

func (d *digest) summary() Summary {
	return Summary{Pairs: d.pairs, Bytes: d.bytes, Digest: hex.EncodeToString(d.all().Sum(nil))}
}
