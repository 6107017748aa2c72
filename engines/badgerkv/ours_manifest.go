package badgerkv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
)

// cutManifest cuts off the record at the end of a manifest that a power loss has torn: of its
// sectors some are there, and others are zeros. Badger does so where the file ends within a record,
// and takes this for damage. The record was not synced yet, so nothing has relied on it: what the
// tables in it hold is in the logs or in older tables.
func cutManifest(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	m, err := io.ReadAll(f)
	if whole := wholeRecords(m); err == nil && torn(m, whole) {
		if err = f.Truncate(int64(whole)); err == nil {
			err = f.Sync()
		}
	}
	return errors.Join(err, f.Close())
}

// recordHeader is the length of a record and its CRC-32C, by which Badger knows it.
const recordHeader = 4 + 4

// record returns the length of the record that m begins with, 0 if there is none. A header of zeros
// is a record of nothing.
func record(m []byte) int {
	if len(m) < recordHeader {
		return 0
	}
	n := uint64(binary.BigEndian.Uint32(m))
	if n > uint64(len(m)-recordHeader) {
		return 0
	}
	body := m[recordHeader:][:n]
	if crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(m[4:]) {
		return 0
	}
	return recordHeader + len(body)
}

// wholeRecords returns where the last record ends that holds something, of those that a manifest
// begins with. Eight bytes stand before them.
func wholeRecords(m []byte) (end int) {
	end = min(8, len(m))
	for at := end; ; {
		n := record(m[at:])
		if n == 0 {
			return end
		}
		if at += n; n > recordHeader {
			end = at
		}
	}
}

// torn reports whether what stands in a manifest from an offset on is one record of which a sector
// is lost. One that is followed by others was synced: that is damage. The length of a record begins
// with zeros.
func torn(m []byte, from int) bool {
	const sector, small = 512, 3
	lost := false
	for at, next := from, 0; at < len(m); at = next {
		next = min(at/sector*sector+sector, len(m))
		zeros := len(bytes.TrimLeft(m[at:next], "\x00")) == 0
		lost = lost || zeros && (at > from || next-at > small)
	}
	for at := from; at < len(m) && lost; at++ {
		lost = record(m[at:]) <= recordHeader
	}
	return lost
}
