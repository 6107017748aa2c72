package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/assaydb/assay/kv"
)

// An entry lies in its file under the bucket's name, as kv.AppendString writes it, and its own key.
// The value begins with a header:
//
//	1 byte   format, which is 1
//	8 bytes  when it was written: nanoseconds since 1970, UTC, big-endian
//	4 bytes  CRC-32C of the key as it lies in the file, the 9 bytes above and the value, big-endian
//
// The sum is there because most engines, bbolt among them, do not notice a flipped bit in a value.
const (
	format     = 1
	headerSize = 1 + 8 + 4
)

// Every file holds one entry outside of all buckets.
var (
	markKey   = []byte{'m'}
	markValue = []byte("assay state 1")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendEntry appends what is stored for value under key.
func appendEntry(dst, key, value []byte, written time.Time) []byte {
	n := len(dst)
	dst = append(dst, format)
	dst = binary.BigEndian.AppendUint64(dst, uint64(written.UnixNano()))
	dst = binary.BigEndian.AppendUint32(dst, checksum(key, dst[n:], value))
	return append(dst, value...)
}

func checksum(key, head, value []byte) uint32 {
	return crc32.Update(crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, head), castagnoli, value)
}

// parseEntry returns the value in what is stored under key, and when it was written. The value is
// part of stored.
func parseEntry(key, stored []byte) (value []byte, written int64, err error) {
	switch {
	case len(stored) < headerSize,
		binary.BigEndian.Uint32(stored[9:]) != checksum(key, stored[:9], stored[headerSize:]):
		return nil, 0, &kv.Error{Op: "get", Kind: kv.Corrupt, Err: fmt.Errorf("key %q: %w", key, errSum)}
	case stored[0] != format: // the header is the same in every format
		return nil, 0, &kv.Error{Op: "get", Kind: kv.Unsupported,
			Err:  fmt.Errorf("key %q: format %d, this program knows %d", key, stored[0], format),
			Hint: "use a newer program"}
	}
	return stored[headerSize:], int64(binary.BigEndian.Uint64(stored[1:])), nil
}

var errSum = errors.New("the entry does not match its checksum")

// expired reports whether an entry of age has outlived ttl. One from a future that far away was
// written under a wrong clock, and would otherwise stay for years.
func expired(age, ttl time.Duration) bool { return ttl > 0 && (age >= ttl || age < -ttl) }
