package buntkv

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/tidwall/buntdb"
)

// A mark says that the file was whole up to where it stands. BuntDB's file has nothing that tells a commit which power
// loss tore from one that is whole: it refuses the file, or reads a part. So the driver appends marks, as pairs under the
// empty key, which no user has; a mark names the bytes since the mark before and their checksum. What stands behind a mark of
// the kind committed was never acknowledged, and is cut off at the next opening. So a program that writes to the file
// through BuntDB itself must not be the first to open it after a crash.
type mark struct {
	kind       markKind
	start, end int64 // the mark stands at end
	sum        uint32
}

type markKind byte

const (
	committed markKind = 'c' // follows a synced commit, or begins what is to be marked
	open      markKind = 'f' // commits follow that are flushed, and not marked
	closed    markKind = 'z' // the store was closed; two of them, so that damage to the last is not taken for a crash
)

const (
	markKey  = "" // kv refuses it as a key
	markHead = "*3\r\n$3\r\nset\r\n$0\r\n\r\n$41\r\n"
	markSize = int64(len(markHead) + 41 + len("\r\n"))
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// String returns the mark as it is stored; all are of one length.
func (m mark) String() string { return fmt.Sprintf("%c%016x%016x%08x", m.kind, m.start, m.end, m.sum) }

// parseMark returns the mark that b begins with.
func parseMark(b []byte) (m mark, ok bool) {
	if int64(len(b)) < markSize || !bytes.HasPrefix(b, []byte(markHead)) {
		return m, false
	}
	text := string(b[len(markHead) : markSize-2])
	var kind rune
	if _, err := fmt.Sscanf(text, "%c%016x%016x%08x", &kind, &m.start, &m.end, &m.sum); err != nil {
		return m, false
	}
	m.kind = markKind(kind)
	return m, m.String() == text
}

// markAt returns the mark that stands in the file b at offset at, if there is one and what it says is so.
func markAt(b []byte, at int64) (m mark, ok bool) {
	if at < 0 {
		return m, false
	}
	m, ok = parseMark(b[at:])
	return m, ok && m.end == at && 0 <= m.start && m.start <= at && crc32.Checksum(b[m.start:at], castagnoli) == m.sum
}

// lastMark returns the last mark in b, and where it ends; 0 if there is none.
func lastMark(b []byte) (m mark, end int64) {
	for at := len(b); ; {
		if at = bytes.LastIndex(b[:at], []byte(markHead)); at < 0 {
			return mark{}, 0
		}
		if m, ok := markAt(b, int64(at)); ok {
			return m, int64(at) + markSize
		}
	}
}

// endsClosed reports whether f, of the given size, was closed: it needs no mending, and what is wrong with it is damage.
func endsClosed(f *os.File, size int64) (bool, error) {
	b := make([]byte, markSize)
	if size < markSize {
		return false, nil
	}
	if _, err := f.ReadAt(b, size-markSize); err != nil {
		return false, err
	}
	m, ok := parseMark(b)
	return ok && m.kind == closed && m.end == size-markSize, nil
}

// mend cuts off what a crash has left of a commit that was not acknowledged. Behind a mark of another kind that is done
// only if the file does not load as it is: there may be flushed commits, or another program's. A file without marks is left
// alone.
func (s *store) mend(f *os.File) error {
	b, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	m, end := lastMark(b)
	if end == 0 || end == int64(len(b)) || m.kind != committed && (loads(b) || !loads(b[:end])) {
		return nil
	}
	s.log.Warn("bunt: cut off what a crash tore", "path", s.path, "bytes", int64(len(b))-end)
	return errors.Join(f.Truncate(end), f.Sync())
}

// trim cuts off zeroes at the end of the file, which power loss leaves where a file has grown and its bytes were not
// written. BuntDB skips them when it loads, and would then write over them: the end of the file would not be where it writes. It returns the size that is left.
func trim(f *os.File, size int64) (end int64, err error) {
	b := make([]byte, 512)
	end = size
	for end > 0 {
		b = b[:min(end, int64(cap(b)))]
		if _, err := f.ReadAt(b, end-int64(len(b))); err != nil {
			return end, err
		}
		rest := bytes.TrimRight(b, "\x00")
		if end -= int64(len(b) - len(rest)); len(rest) > 0 {
			break
		}
	}
	if end == size {
		return end, nil
	}
	return end, f.Truncate(end)
}

// loads reports whether BuntDB takes b for a file of its own, one that ends within a commit included: it cuts that off itself.
func loads(b []byte) (ok bool) {
	defer func() { ok = recover() == nil && ok }()
	db, err := buntdb.Open(":memory:")
	if err != nil {
		return false
	}
	defer db.Close()
	err = db.Load(bytes.NewReader(b))
	return err == nil || errors.Is(err, io.ErrUnexpectedEOF)
}

// mark appends a mark. It is called with s.marking held, and no transaction open.
func (s *store) mark(kind markKind) (err error) {
	tx, err := s.db.Begin(readWrite)
	if err != nil {
		return classify(err)
	}
	m := mark{kind: kind, start: s.marked}
	if m.end, m.sum, err = s.sumFrom(m.start); err == nil {
		_, _, err = tx.Set(markKey, m.String(), nil)
	}
	if err != nil {
		return errors.Join(err, classify(tx.Rollback()))
	}
	s.marked, s.kind = m.end+markSize, kind
	return classify(tx.Commit())
}

// sumFrom returns the size of the file and the checksum of its bytes from start.
func (s *store) sumFrom(start int64) (size int64, sum uint32, err error) {
	info, err := s.file.Stat()
	if err != nil {
		return 0, 0, err
	}
	size = info.Size()
	switch n := size - start; {
	case n < 0:
		return 0, 0, corrupt("the file was cut short while it was open")
	case n <= int64(cap(s.buffer)):
		_, err = s.file.ReadAt(s.buffer[:n], start)
		return size, crc32.Checksum(s.buffer[:n], castagnoli), err
	}
	h := crc32.New(castagnoli)
	_, err = io.Copy(h, io.NewSectionReader(s.file, start, size-start))
	return size, h.Sum32(), err
}
