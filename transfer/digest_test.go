package transfer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"testing"
)

// TestDigest: it is the SHA-256 of the pairs as the package's documentation has them, whatever
// their sizes, and may be asked for amid them.
func TestDigest(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	d, all := newDigest(), []byte{}
	for n := range 3000 {
		value := make([]byte, r.IntN(300))
		switch r.IntN(200) {
		case 0:
			value = make([]byte, part-1+r.IntN(3))
		case 1:
			value = make([]byte, r.IntN(3*part))
		case 2:
			value = nil
		}
		for i := range value {
			value[i] = byte(r.Uint32())
		}
		key := binary.BigEndian.AppendUint64(nil, r.Uint64())
		d.add(key, value)
		all = append(binary.AppendUvarint(all, uint64(len(key))), key...)
		all = append(binary.AppendUvarint(all, uint64(len(value))), value...)
		clear(value) // it is the caller's again
		clear(key)
		if n%700 == 0 || n == 2999 {
			want := sha256.Sum256(all)
			if got := d.summary(); got.Digest != hex.EncodeToString(want[:]) || got.Pairs != int64(n+1) {
				t.Fatalf("seed %d, after %d pairs: %+v, want digest %x", seed, n+1, got, want)
			}
		}
	}
}
