package state

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
)

func TestEveryFlippedBitOfAnEntryIsFound(t *testing.T) {
	key, value := []byte("a\x00\x01key"), []byte("value")
	written := time.Unix(1_700_000_000, 123)
	stored := appendEntry(nil, key, value, written)
	got, at, err := parseEntry(key, stored)
	if !bytes.Equal(got, value) || at != written.UnixNano() || err != nil {
		t.Fatalf("got %q, %v, %v", got, at, err)
	}
	for i := range len(stored) * 8 {
		bad := bytes.Clone(stored)
		bad[i/8] ^= 1 << (i % 8)
		if _, _, err := parseEntry(key, bad); kv.KindOf(err) != kv.Corrupt {
			t.Errorf("bit %d: got %v, want corrupt", i, err)
		}
	}
	for n := range stored {
		if _, _, err := parseEntry(key, stored[:n]); kv.KindOf(err) != kv.Corrupt {
			t.Errorf("cut to %d bytes: got %v, want corrupt", n, err)
		}
	}
	if _, _, err := parseEntry([]byte("a\x00\x01kex"), stored); kv.KindOf(err) != kv.Corrupt {
		t.Errorf("under another key: got %v, want corrupt", err)
	}
}

func TestAnEntryOfANewerProgramIsNotDamage(t *testing.T) {
	key := []byte("key")
	stored := appendEntry(nil, key, []byte("value"), time.Unix(0, 0))
	stored[0] = format + 1
	binary.BigEndian.PutUint32(stored[9:], crc32.Update(crc32.Update(crc32.Checksum(key, castagnoli), castagnoli,
		stored[:9]), castagnoli, []byte("value")))
	if _, _, err := parseEntry(key, stored); kv.KindOf(err) != kv.Unsupported || kv.HintOf(err) == "" {
		t.Errorf("got %v, want unsupported", err)
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add([]byte("k"), appendEntry(nil, []byte("k"), []byte("v"), time.Unix(0, 1)))
	f.Add([]byte("k"), []byte{})
	f.Fuzz(func(t *testing.T, key, stored []byte) {
		value, written, err := parseEntry(key, stored)
		if err == nil && !bytes.Equal(appendEntry(nil, key, value, time.Unix(0, written)), stored) {
			t.Errorf("%q under %q does not come back", stored, key)
		}
	})
}
