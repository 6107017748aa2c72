package margaret

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// Bytes of a length in data, of an entry of ofst, and of jrnl.
const (
	headerSize  = 8
	offsetSize  = 8
	journalSize = 8
	markSize    = 8
)

// reader reads the messages that were there when it was made.
type reader struct {
	b   *backend
	n   uint64
	end int64
	raw []byte // memory of bounds
}

// View implements feed.Backend.
func (b *backend) View(_ context.Context, fn func(feed.Reader) error) error {
	b.mu.RLock()
	r := &reader{b: b, n: b.n, end: b.end}
	b.mu.RUnlock()
	return fn(r)
}

// Len implements feed.Reader.
func (r *reader) Len() uint64 { return r.n }

// Append implements feed.Reader.
func (r *reader) Append(dst []byte, seq uint64) ([]byte, error) {
	var bounds [2]int64
	if err := r.bounds(bounds[:], seq); err != nil {
		return dst, wrap("get", r.b.dir, err)
	}
	n := len(dst)
	record := slices.Grow(dst, int(bounds[1]-bounds[0]))[:n+int(bounds[1]-bounds[0])]
	if err := r.read(record[n:], bounds[0]); err != nil {
		return dst, wrap("get", r.b.dir, err)
	}
	message, err := content(record[n:], seq)
	if err == nil && message == nil {
		err = &kv.Error{Kind: kv.NotFound, Err: fmt.Errorf("message %d was erased", seq)}
	}
	if err != nil {
		return dst, wrap("get", r.b.dir, err)
	}
	return record[:n+copy(record[n:], message)], nil
}

// A scan reads so many offsets, and about so many bytes of data, at a time.
const (
	scanOffsets = 512
	scanBytes   = 256 << 10
)

// Scan implements feed.Reader.
func (r *reader) Scan(from, to uint64, yield func(seq uint64, message []byte) bool) error {
	all := make([]int64, min(to-from, scanOffsets)+1)
	var buf []byte
	for from < to {
		bounds := all[:min(to-from+1, uint64(len(all)))]
		if err := r.bounds(bounds, from); err != nil {
			return wrap("scan", r.b.dir, err)
		}
		for len(bounds) > 1 {
			n := 1 // messages to read at once
			for n+1 < len(bounds) && bounds[n+1]-bounds[0] <= scanBytes {
				n++
			}
			var err error
			if buf, err = r.records(buf, bounds[:n+1]); err != nil {
				return wrap("scan", r.b.dir, err)
			}
			for i := range n {
				message, err := content(buf[bounds[i]-bounds[0]:bounds[i+1]-bounds[0]], from)
				if err != nil {
					return wrap("scan", r.b.dir, err)
				}
				if !yield(from, message) {
					return nil
				}
				from++
			}
			bounds = bounds[n:]
		}
	}
	return nil
}

// records reads the records between the first bound and the last into buf, or a larger one.
func (r *reader) records(buf []byte, bounds []int64) ([]byte, error) {
	size := int(bounds[len(bounds)-1] - bounds[0])
	buf = slices.Grow(buf[:0], size)[:size]
	return buf, r.read(buf, bounds[0])
}

// bounds sets into to where the message seq and those after it begin, and at last where the last of
// them ends.
func (r *reader) bounds(into []int64, seq uint64) error {
	known := uint64(len(into))
	if seq+known > r.n { // the last one ends where data does
		known = r.n - seq
		into[known] = r.end
	}
	r.raw = slices.Grow(r.raw[:0], int(known)*offsetSize)[:known*offsetSize]
	if err := readFull(r.b.offsets, r.raw, int64(seq)*offsetSize); err != nil {
		return err
	}
	for i := range known {
		into[i] = int64(binary.BigEndian.Uint64(r.raw[i*offsetSize:]))
	}
	for i := range len(into) - 1 {
		if into[i] < 0 || into[i+1] > r.end || into[i+1]-into[i] < headerSize {
			return corrupt(fmt.Errorf("the offsets of message %d are wrong: from %d to %d of %d", seq+uint64(i),
				into[i], into[i+1], r.end))
		}
	}
	return nil
}

func (r *reader) read(p []byte, at int64) error {
	r.b.mu.RLock()
	defer r.b.mu.RUnlock()
	return readFull(r.b.data, p, at)
}

// content returns the bytes of the message in a record, which its length must fill: nil if it was
// erased.
func content(record []byte, seq uint64) ([]byte, error) {
	length := int64(binary.BigEndian.Uint64(record))
	message := record[headerSize:]
	switch int64(len(message)) {
	case length:
		return message, nil
	case -length:
		return nil, nil
	}
	return nil, corrupt(fmt.Errorf("message %d: length %d, and %d bytes to the next one", seq, length, len(message)))
}

// readFull fills p from f.
func readFull(f io.ReaderAt, p []byte, at int64) error {
	n, err := f.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return corrupt(fmt.Errorf("a file ends at %d, and bytes up to %d are needed", at+int64(n), at+int64(len(p))))
	}
	return err
}
