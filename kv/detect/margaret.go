package detect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

// margaret looks whether the three files of a log end where the others say: jrnl has the number of
// the last message, ofst where each begins in data; there its length stands, negative if it was
// erased, and the message. Numbers have 8 bytes, big-endian. What an append that was not finished
// has left, up to 65,536 messages, is cut off when the log is opened.
func (f files) margaret(found Found) (Found, error) {
	const width, most = 8, 1 << 16
	last, journal, err := tailOf(filepath.Join(f.path, "jrnl"), width)
	if err != nil {
		return found, err
	}
	named := int64(0)
	switch journal {
	case 0:
	case width:
		named = int64(binary.BigEndian.Uint64(last)) + 1
	default:
		found.State, found.Detail = Damaged, fmt.Sprintf("jrnl has %d bytes, not 0 or %d", journal, width)
		return found, nil
	}
	offsets, data := sizeOf(filepath.Join(f.path, "ofst")), sizeOf(filepath.Join(f.path, "data"))
	have := offsets / width
	if named < 0 || named > have+most {
		return found.short("ofst", offsets, named*width), nil
	}
	n := min(named, have)
	end, err := margaretEnd(f.path, n)
	if err != nil {
		return found, err
	}
	sure, err := margaretEnd(f.path, max(0, named-most))
	switch {
	case err != nil:
		return found, err
	case data < sure:
		return found.short("data", data, end), nil
	case have != named || offsets%width != 0:
		found.State, found.Detail = Recovery, fmt.Sprintf("jrnl names %d messages, ofst %d", named, have)
	case data != end:
		found.State, found.Detail = Recovery, fmt.Sprintf("data has %d bytes, and its messages %d", data, end)
	}
	return found, nil
}

// margaretEnd returns where the first n messages end in the file data, which may be behind its end.
func margaretEnd(path string, n int64) (end int64, err error) {
	if n == 0 {
		return 0, nil
	}
	at, err := numberAt(filepath.Join(path, "ofst"), 8*(n-1))
	if err != nil || at < 0 {
		return math.MaxInt64, err
	}
	size, err := numberAt(filepath.Join(path, "data"), at)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return at + 8, nil
	}
	if size = max(size, -size); size < 0 || size > math.MaxInt64-at-8 {
		return math.MaxInt64, err
	}
	return at + 8 + size, err
}

// numberAt reads one at an offset in a file.
func numberAt(name string, at int64) (int64, error) {
	file, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	var b [8]byte
	if _, err := io.ReadFull(io.NewSectionReader(file, at, 8), b[:]); err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(b[:])), nil
}
