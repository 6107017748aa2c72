package buntkv

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strconv"
)

// point is a place in a file up to which it is whole.
type point struct {
	end    int64
	framed bool   // the last frame before it is not one that is closed
	sum    uint32 // of that frame
	from   int64  // where what has no frames begins: behind the last frame that is closed
	synced int64  // what that frame says, or more
}

// survey returns up to where the file b is whole.
func survey(b []byte) (p point, err error) {
	var all tally   // of the transaction that is being read
	var last *frame // that it has
	for rest := b; ; {
		var parts [][]byte
		var ok bool
		if parts, rest, ok = next(rest); !ok {
			return p, nil
		}
		at := int64(len(b) - len(rest))
		g, isFrame := frameOf(parts)
		if isFrame && g.kind == opened && g.end == at {
			if p.from > at-frameSize || g != newFrame(opened, at, g.synced, sumOf(b[p.from:at-frameSize]), 0) {
				return p, corrupt(fmt.Sprintf("between byte %d and %d", p.from, at))
			}
			p, all, last = point{at, true, g.sum, p.from, g.synced}, tally{}, nil
			continue
		}
		switch {
		case !p.framed:
			p.end = at
			continue
		case isFrame && last == nil:
			last = &g
		case isFrame || !all.count(parts):
			return p, nil
		}
		switch {
		case last == nil || at < last.end:
		case *last != newFrame(last.kind, at, last.synced, p.sum, all.sum):
			return p, nil
		default:
			p.end, p.sum, p.synced = at, last.sum, last.synced
			if last.kind == closed {
				p.framed, p.from = false, at
			}
			all, last = tally{}, nil
		}
	}
}

// isTorn reports whether what stands behind p in b is what a crash has left. That it was once synced is
// Corrupt. Where another program has written, BuntDB has its own rules.
func (p point) isTorn(b []byte) (bool, error) {
	rest := b[p.end:]
	if len(rest) == 0 {
		return false, nil
	}
	for i := 0; ; i++ { // a frame that says of a sync behind p?
		n := bytes.Index(rest[i:], []byte(frameHead))
		if n < 0 || len(rest)-i-n < int(frameSize) {
			break
		}
		i += n
		g, ok := decode(rest[i+len(frameHead):][:valueSize])
		if at := p.end + int64(i); ok && p.end < g.synced && g.synced <= at && at < g.end {
			return false, p.damaged(b)
		}
	}
	begun := openedBehind(p.from).command()
	switch {
	case p.framed, int64(len(rest)) <= frameSize: // the first frame is synced before anything follows
		return true, nil
	case p.end == p.from && p.from > 0: // or follows one that is closed, and parts of it may be lost
		for i, c := range begun {
			if rest[i] != c && rest[i] != 0 {
				return false, nil
			}
		}
		return true, nil
	}
	return len(bytes.TrimLeft(rest, "\x00")) == 0, nil // the file had grown, and the bytes were not written
}

func (p point) damaged(b []byte) error {
	return corrupt(fmt.Sprintf("at byte %d of %d", p.end, len(b)))
}

func sumOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// next cuts the first command off b: *COUNT, and as often $LENGTH and so many bytes, each line and each
// part ended by CR LF. It reports whether b begins with a whole one.
func next(b []byte) (parts [][]byte, rest []byte, ok bool) {
	count, b, ok := number(b, '*')
	if !ok || count < 1 || count > 5 {
		return nil, nil, false
	}
	for range count {
		var n int
		if n, b, ok = number(b, '$'); !ok || n > len(b)-2 || b[n] != '\r' || b[n+1] != '\n' {
			return nil, nil, false
		}
		parts, b = append(parts, b[:n]), b[n+2:]
	}
	return parts, b, true
}

// number cuts a line of a mark and a number off b.
func number(b []byte, mark byte) (n int, rest []byte, ok bool) {
	const longest = 22
	end := bytes.Index(b[:min(len(b), longest)], []byte("\r\n"))
	if end < 2 || b[0] != mark {
		return 0, nil, false
	}
	u, err := strconv.ParseUint(string(b[1:end]), 10, 62)
	return int(u), b[end+2:], err == nil
}

// frameOf returns the frame that a command writes.
func frameOf(parts [][]byte) (frame, bool) {
	if len(parts) != 3 || string(parts[0]) != "set" || len(parts[1]) > 0 {
		return frame{}, false
	}
	return decode(parts[2])
}

// count adds a command. Other commands than ours stand in no transaction.
func (t *tally) count(parts [][]byte) bool {
	switch {
	case len(parts) == 3 && string(parts[0]) == "set":
		t.sum += setPart(borrowed(parts[1]), borrowed(parts[2])).sum
	case len(parts) == 2 && string(parts[0]) == "del":
		t.sum += delPart(borrowed(parts[1])).sum
	default:
		return false
	}
	return true
}
