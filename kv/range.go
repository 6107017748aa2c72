package kv

import (
	"bytes"
	"encoding/binary"
)

// Range is the half-open interval [Start, End) of keys, in ascending order or, if Reverse is set,
// descending. A nil bound is open; the zero Range is everything. An empty, non-nil End and a Start
// at or above End give no keys.
type Range struct {
	Start, End []byte
	Reverse    bool
	KeysOnly   bool // values are not wanted: they may be nil, and engines that keep them apart need not read them
}

// Prefix returns the range of all keys that begin with p. An empty p is every key.
func Prefix(p []byte) Range {
	return Range{Start: p, End: PrefixEnd(p)}
}

// PrefixEnd returns the smallest key above every key that begins with p, or nil if there is none
// (p is empty or consists of 0xff bytes).
func PrefixEnd(p []byte) []byte {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0xff {
			end := bytes.Clone(p[:i+1])
			end[i]++
			return end
		}
	}
	return nil
}

// After returns the smallest key above key: the Start of a range that begins behind key.
func After(key []byte) []byte { return append(bytes.Clone(key), 0) }

// AppendUint64 appends n to key as 8 bytes, big-endian, so that keys sort as the numbers do.
func AppendUint64(key []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(key, n) }

// LastUint64 returns the number that the last 8 bytes of key hold, as AppendUint64 wrote them. A
// key shorter than 8 bytes gives false.
func LastUint64(key []byte) (n uint64, ok bool) {
	if len(key) < 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[len(key)-8:]), true
}

// AppendString appends s so that it sorts as strings do and ends recognisably, for keys made of
// several parts: a zero byte in s becomes 0x00 0xff, and 0x00 0x01 ends the string.
func AppendString(key []byte, s string) []byte {
	for i := range len(s) {
		key = append(key, s[i])
		if s[i] == 0 {
			key = append(key, 0xff)
		}
	}
	return append(key, 0, 1)
}

// CutString returns the string that AppendString put at the start of key, and what follows it.
// A key that does not begin with such a string gives false.
func CutString(key []byte) (s string, rest []byte, ok bool) {
	var b []byte
	for i := 0; i+1 < len(key); i++ {
		if key[i] != 0 {
			b = append(b, key[i])
			continue
		}
		switch key[i+1] {
		case 0xff:
			b = append(b, 0)
			i++
		case 1:
			return string(b), key[i+2:], true
		default:
			return "", nil, false
		}
	}
	return "", nil, false
}

// empty reports whether r can hold no key.
func (r *Range) empty() bool {
	return r.End != nil && (len(r.End) == 0 || bytes.Compare(r.Start, r.End) >= 0 ||
		len(r.Start) == 0 && len(r.End) == 1 && r.End[0] == 0) // no key is shorter
}
