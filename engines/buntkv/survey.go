package buntkv

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
)

// mend finds where f, of the given size, is whole, and cuts off what a crash has left of commits that
// were not acknowledged: it may be done again and again. What was once synced and is damaged is Corrupt.
// In a file that is only read nothing is cut: the store ends at point.end.
func mend(f *os.File, size int64, write bool, log *slog.Logger) (point, error) {
	if p, ok, err := endsClosed(f, size); ok || err != nil {
		return p, err
	}
	p, why, err := survey(f, size)
	if err != nil {
		return p, err
	}
	if p.end < size {
		cut, err := mayCut(f, p, size, why)
		if err != nil {
			return p, err
		}
		if !cut {
			return p, corrupt(fmt.Sprintf("at byte %d of %d: %v", p.end, size, why))
		}
		log.Warn("bunt: cut off what a crash has left", "path", f.Name(), "bytes", size-p.end)
	}
	if !write || p.end == size && (!p.framed || p.synced >= p.end) {
		return p, nil
	}
	if err := errors.Join(f.Truncate(p.end), rewrite(f, p.synced, p.end), f.Sync()); err != nil {
		return p, err
	}
	p.synced = p.end
	return p, nil
}

// rewrite writes what is there once more. Where a sync of it failed, the kernel takes it for written, so that a further
// sync alone would not bring it to the disk.
func rewrite(f *os.File, from, to int64) error {
	b := make([]byte, 64<<10)
	for from < to {
		b = b[:min(int64(cap(b)), to-from)]
		if _, err := f.ReadAt(b, from); err != nil {
			return err
		}
		if _, err := f.WriteAt(b, from); err != nil {
			return err
		}
		from += int64(len(b))
	}
	return nil
}

// endsClosed reports whether the file was closed and nothing added since. What is wrong with it then is
// damage, which BuntDB finds as far as it finds any; Check finds all.
func endsClosed(f io.ReaderAt, size int64) (p point, ok bool, err error) {
	if size < frameSize {
		return p, false, nil
	}
	b := make([]byte, frameSize)
	if _, err := f.ReadAt(b, size-frameSize); err != nil {
		return p, false, err
	}
	g, ok := decode(b[len(frameHead) : len(frameHead)+valueSize])
	if !ok || !bytes.Equal(b, g.command()) || g.kind != closed || g.end != size {
		return p, false, nil
	}
	return point{end: size, sum: g.sum, from: size, synced: g.synced}, true, nil
}

var errTorn = errors.New("what was written is not whole")

// survey reads the whole file and returns up to where it is whole, and why it is not behind that.
func survey(f io.ReaderAt, size int64) (p point, why, err error) {
	s := scanner{r: bufio.NewReaderSize(io.NewSectionReader(f, 0, size), 64<<10), size: size}
	t := tally{keys: map[string]part{}}
	var end *frame // of the transaction that is being read
	for {
		n, err := s.next()
		switch {
		case err == io.EOF, err == errTorn, err == io.ErrUnexpectedEOF:
			return p, err, nil
		case err != nil:
			return p, nil, err
		}
		g, isFrame := s.frame(n)
		if !p.framed {
			if isFrame && g.kind == opened && g.end == s.at {
				before, err := sumOf(f, p.from, s.at-frameSize)
				if err != nil {
					return p, nil, err
				}
				if g != newFrame(opened, g.end, g.synced, before, 0) {
					return p, nil, corrupt(fmt.Sprintf("between byte %d and %d", p.from, s.at))
				}
				p.framed, p.sum, p.synced = true, g.sum, g.synced
			}
			p.end = s.at
			continue
		}
		switch {
		case isFrame && end == nil:
			end = &g
		case isFrame || !s.count(n, &t):
			return p, errTorn, nil
		}
		switch {
		case end == nil || s.at < end.end:
		case s.at > end.end || *end != newFrame(end.kind, s.at, end.synced, p.sum, t.sum):
			return p, errTorn, nil
		default:
			p.end, p.sum, p.synced = s.at, end.sum, end.synced
			if end.kind == closed {
				p.framed, p.from = false, s.at
			}
			end = nil
			t.reset()
		}
	}
}

// mayCut reports whether what stands behind p was never synced: a crash has left it, not damage.
func mayCut(f io.ReaderAt, p point, size int64, why error) (bool, error) {
	if known, err := syncedBehind(f, p.end, size); known || err != nil {
		return false, err
	}
	switch {
	case p.framed, size-p.end <= frameSize: // a frame of the kind opened is synced before anything follows
		return true, nil
	case why == io.ErrUnexpectedEOF: // BuntDB cuts that off itself
		return true, nil
	case p.end == p.from && p.from > 0: // but for one that follows one of the kind closed
		b := make([]byte, frameSize)
		_, err := f.ReadAt(b, p.end)
		return partOf(b, openedBehind(p.from).command()), err
	}
	return allZero(f, p.end, size) // which a power loss leaves where a file has grown
}

// partOf reports whether b is whole with some bytes missing, which are zero.
func partOf(b, whole []byte) bool {
	for i, c := range b {
		if c != whole[i] && c != 0 {
			return false
		}
	}
	return true
}

// syncedBehind looks for a frame behind from that says that the file was once synced beyond there.
func syncedBehind(f io.ReaderAt, from, size int64) (bool, error) {
	r := bufio.NewReaderSize(io.NewSectionReader(f, from, size-from), 1<<20)
	for at := from; ; {
		b, err := r.Peek(r.Size())
		if err != nil && err != io.EOF {
			return false, err
		}
		i := bytes.Index(b, []byte(frameHead))
		if i >= 0 && len(b)-i >= int(frameSize) {
			g, ok := decode(b[i+len(frameHead) : i+len(frameHead)+valueSize])
			if here := at + int64(i); ok && from < g.synced && g.synced <= here && here < g.end {
				return true, nil
			}
		}
		skip := i + 1
		if i < 0 {
			skip = len(b) - len(frameHead)
		}
		if skip <= 0 || len(b)-skip < int(frameSize) && err == io.EOF {
			return false, nil
		}
		n, _ := r.Discard(skip)
		at += int64(n)
	}
}

func allZero(f io.ReaderAt, from, to int64) (bool, error) {
	r := bufio.NewReader(io.NewSectionReader(f, from, to-from))
	for {
		c, err := r.ReadByte()
		if err != nil {
			return err == io.EOF, ignoreEOF(err)
		}
		if c != 0 {
			return false, nil
		}
	}
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// sumOf returns the checksum of a part of the file.
func sumOf(f io.ReaderAt, from, to int64) (uint32, error) {
	h := crc32.New(castagnoli)
	_, err := io.Copy(h, io.NewSectionReader(f, from, to-from))
	return h.Sum32(), err
}

// scanner reads BuntDB's commands: *COUNT, and as often $LENGTH and so many bytes, each line and each
// part ended by CR LF.
type scanner struct {
	r        *bufio.Reader
	at, size int64
	buf      []byte
	parts    [5][]byte // of the last command
}

// next reads a command and returns its number of parts. EOF is the end between two commands,
// ErrUnexpectedEOF within one, errTorn what is no command.
func (s *scanner) next() (n int, err error) {
	if _, err := s.r.Peek(1); err != nil {
		return 0, err
	}
	count, err := s.line('*')
	if err == nil && (count < 1 || count > len(s.parts)) {
		err = errTorn
	}
	s.buf = s.buf[:0]
	var ends [5]int
	for i := 0; i < count && err == nil; i++ {
		ends[i], err = s.part()
	}
	if err != nil {
		return 0, err
	}
	start := 0
	for i, end := range ends[:count] {
		s.parts[i] = s.buf[start:end]
		start = end
	}
	return count, nil
}

// line reads a line of a mark and a number.
func (s *scanner) line(mark byte) (n int, err error) {
	b, err := s.r.ReadSlice('\n')
	switch {
	case err == io.EOF && len(b) > 0 && b[0] != mark, err == bufio.ErrBufferFull:
		return 0, errTorn
	case err == io.EOF:
		return 0, io.ErrUnexpectedEOF
	case err != nil:
		return 0, err
	}
	s.at += int64(len(b))
	const most = 18 // digits
	if len(b) < 4 || len(b) > most+3 || b[0] != mark || b[len(b)-2] != '\r' {
		return 0, errTorn
	}
	for _, c := range b[1 : len(b)-2] {
		if c < '0' || c > '9' {
			return 0, errTorn
		}
		n = 10*n + int(c-'0')
	}
	return n, nil
}

// part reads a part behind s.buf and returns where it ends there.
func (s *scanner) part() (end int, err error) {
	n, err := s.line('$')
	if err != nil {
		return 0, err
	}
	if int64(n) > s.size-s.at-2 {
		return 0, io.ErrUnexpectedEOF
	}
	end = len(s.buf) + n
	s.buf = append(s.buf, make([]byte, n+2)...)
	if _, err := io.ReadFull(s.r, s.buf[end-n:]); err != nil {
		return 0, err
	}
	s.at += int64(n + 2)
	if s.buf[end] != '\r' || s.buf[end+1] != '\n' {
		return 0, errTorn
	}
	s.buf = s.buf[:end]
	return end, nil
}

// frame returns the frame that the last command, of n parts, writes.
func (s *scanner) frame(n int) (frame, bool) {
	if n != 3 || string(s.parts[0]) != "set" || len(s.parts[1]) > 0 {
		return frame{}, false
	}
	return decode(s.parts[2])
}

// count adds the last command to t. Other commands than ours stand in no transaction.
func (s *scanner) count(n int, t *tally) bool {
	switch {
	case n == 3 && string(s.parts[0]) == "set":
		t.sum += setPart(borrowed(s.parts[1]), borrowed(s.parts[2])).sum
	case n == 2 && string(s.parts[0]) == "del":
		t.sum += delPart(borrowed(s.parts[1])).sum
	default:
		return false
	}
	return true
}
