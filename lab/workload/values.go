package workload

import (
	"encoding/binary"
	"fmt"
)

// values makes and checks the values that are written. A value holds the number of its key, its
// version and bytes that follow from both and the seed, so that a value of another key, an older
// one and a damaged one are all found out. The bytes look random: no engine compresses them away.
type values struct {
	seed uint64
	size int // in bytes, at least minValue
	more int // at most, by key: all sizes from size to size+more are as frequent
}

// sizeOf returns the size of the values of key number key.
func (v values) sizeOf(key uint64) int {
	if v.more == 0 {
		return v.size
	}
	return v.size + int(word(v.hash(key, 0))%uint64(v.more+1))
}

// minValue is the smallest value that tells its key and version.
const minValue = 16

// append appends the value of key number key in the given version to dst. It allocates only if dst
// is too short.
func (v values) append(dst []byte, key, version uint64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, key)
	dst = binary.LittleEndian.AppendUint64(dst, version)
	h := v.hash(key, version)
	n := v.sizeOf(key) - minValue
	for ; n >= 8; n -= 8 {
		h += golden
		dst = binary.LittleEndian.AppendUint64(dst, word(h))
	}
	for x := word(h + golden); n > 0; n-- {
		dst = append(dst, byte(x))
		x >>= 8
	}
	return dst
}

// version returns the version of value, which must be an undamaged value of key number key.
func (v values) version(value []byte, key uint64) (uint64, error) {
	if want := v.sizeOf(key); len(value) != want {
		return 0, fmt.Errorf("key %d: value of %d bytes, want %d", key, len(value), want)
	}
	if got := binary.LittleEndian.Uint64(value); got != key {
		return 0, fmt.Errorf("key %d: value of key %d", key, got)
	}
	version := binary.LittleEndian.Uint64(value[8:])
	h := v.hash(key, version)
	rest := value[minValue:]
	var differs uint64
	for ; len(rest) >= 8; rest = rest[8:] {
		h += golden
		differs |= word(h) ^ binary.LittleEndian.Uint64(rest)
	}
	x := word(h + golden)
	for _, b := range rest {
		differs |= uint64(b ^ byte(x))
		x >>= 8
	}
	if differs != 0 {
		return 0, fmt.Errorf("key %d: value of version %d is damaged", key, version)
	}
	return version, nil
}

// check returns an error unless value is that of key number key in the given version.
func (v values) check(value []byte, key, version uint64) error {
	got, err := v.version(value, key)
	if err == nil && got != version {
		return fmt.Errorf("key %d: version %d, want %d", key, got, version)
	}
	return err
}

// golden is 2^64 divided by the golden ratio: its multiples are spread evenly.
const golden = 0x9e3779b97f4a7c15

func (v values) hash(key, version uint64) uint64 {
	return scramble(scramble(v.seed^key*golden) + version*golden)
}

// scramble is a step of the finaliser of SplitMix64: two inputs that differ in one bit give unlike
// outputs.
func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	return x ^ x>>31
}

// word is eight bytes of a value: cheaper than scramble, and as far from a pattern as a compressor
// can see.
func word(h uint64) uint64 { return (h ^ h>>32) * 0xbf58476d1ce4e5b9 }
