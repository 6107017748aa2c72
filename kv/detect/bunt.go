package detect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
)

// redis reports whether head begins as a file of BuntDB: a command in Redis's protocol, set or del.
func redis(head []byte) bool {
	line, rest, ok := bytes.Cut(head, []byte("\r\n"))
	if !ok || len(line) != 2 || line[0] != '*' {
		return false
	}
	return bytes.HasPrefix(rest, []byte("$3\r\nset\r\n")) || bytes.HasPrefix(rest, []byte("$3\r\ndel\r\n"))
}

// buntFrame is how a frame begins that the driver of this project puts before each transaction: a
// pair whose key is empty and whose value of 29 bytes is its kind (t, or z where the file was
// closed), its place in the file, the size of the transaction, up to where the file had been synced
// (8 bytes each), and a CRC-32C (4) of the transaction, and of the frame with the sum of the one
// before in this place.
const buntFrame = "*3\r\n$3\r\nset\r\n$0\r\n\r\n$29\r\n"

const (
	buntFrameLen = len(buntFrame) + 29 + len("\r\n")
	buntKind     = len(buntFrame)
	buntAt       = buntKind + 1
	buntSize     = buntAt + 8
	buntSynced   = buntSize + 8
	buntSum      = buntSynced + 8
)

// buntWhole is how large a file may be that is read from its beginning to its end: whoever opens it
// reads all of it anyway. Of a larger one the end is looked at.
const buntWhole = 64 << 20

// bunt looks whether the frames of a file, or its commands, follow one another up to its end, and
// the last one says that it was closed. A file without frames has nothing that tells of its end:
// cut behind a command, it is whole.
func bunt(path string, head []byte) (Found, error) {
	n := sizeOf(path)
	if n > buntWhole {
		n = headBytes
	}
	b, size, err := tailOf(path, n)
	found := Found{Engine: "bunt", State: Clean}
	if err != nil {
		return found, err
	}
	whole := int64(len(b)) == size
	if bytes.HasPrefix(head, []byte(buntFrame)) {
		return found.buntFrames(head, b, size, whole), nil
	}
	end, cut := 0, !whole && !endsCommand(b)
	if whole {
		end, cut = commands(b)
	}
	switch {
	case cut:
		found.State, found.Detail = Recovery, "it ends within a command"
	case whole && end < len(b):
		found.State, found.Detail = Damaged, fmt.Sprintf("at byte %d of %d no command begins", end, size)
	}
	return found, nil
}

// buntFrames looks at a file of frames, of which b is the end, or all of it. What does not follow
// is what a crash has left, unless a frame behind it says that it had been synced.
func (f Found) buntFrames(head, b []byte, size int64, whole bool) Found {
	first := int64(buntFrameLen)
	if len(head) >= buntFrameLen {
		first += frameNumber(head, buntSize)
	}
	if size < first || first < 0 { // which was synced before the file got its name
		return f.short("the file", size, first)
	}
	if whole {
		end := frames(b)
		if end == 0 || lost(b, end) {
			f.State, f.Detail = Damaged, fmt.Sprintf("from byte %d of %d on it is not as it was written", end, size)
			return f
		}
	}
	at := len(b) - buntFrameLen
	if at < 0 || !isFrame(b[at:], size-int64(len(b)-at)) || b[at+buntKind] != 'z' {
		f.State, f.Detail = Recovery, "it was not closed, or lacks its end"
	}
	return f
}

// isFrame reports whether b begins with a frame that says that it stands at a place.
func isFrame(b []byte, at int64) bool {
	return len(b) >= buntFrameLen && bytes.HasPrefix(b, []byte(buntFrame)) &&
		(b[buntKind] == 't' || b[buntKind] == 'z') && frameNumber(b, buntAt) == at && string(b[buntFrameLen-2:buntFrameLen]) == "\r\n"
}

func frameNumber(b []byte, at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }

// frames returns up to where frames with their transactions follow one another, as they were
// written.
func frames(b []byte) (end int) {
	before := uint32(0)
	for isFrame(b[end:], int64(end)) {
		head, rest := bytes.Clone(b[end:end+buntFrameLen]), b[end+buntFrameLen:]
		size := frameNumber(head, buntSize)
		if size < 0 || size > int64(len(rest)) {
			break
		}
		sum := binary.BigEndian.Uint32(head[buntSum:])
		binary.BigEndian.PutUint32(head[buntSum:], before)
		if crc32.Update(crc32.Checksum(rest[:size], castagnoli), castagnoli, head) != sum {
			break
		}
		end, before = end+buntFrameLen+int(size), sum
	}
	return end
}

// lost reports whether a frame behind end says that what is there had been synced.
func lost(b []byte, end int) bool {
	for at := end; ; at++ {
		n := bytes.Index(b[at:], []byte(buntFrame))
		if n < 0 {
			return false
		}
		at += n
		if !isFrame(b[at:], int64(at)) {
			continue
		}
		if synced := frameNumber(b[at:], buntSynced); int64(end) < synced && synced <= int64(at) {
			return true
		}
	}
}

// commands returns up to where commands follow one another from the beginning of b, and whether
// what comes then is the beginning of one. BuntDB passes over zeros between them, which a power
// loss leaves.
func commands(b []byte) (end int, cut bool) {
	for {
		rest := bytes.TrimLeft(b[end:], "\x00")
		if len(rest) == 0 {
			return len(b), end < len(b)
		}
		behind, ok := command(rest)
		if !ok {
			return end, mayBeCut(rest)
		}
		end = len(b) - len(behind)
	}
}

// mayBeCut reports whether b, no command, is the beginning of one.
func mayBeCut(b []byte) bool {
	arguments, b, ok := number(b, '*')
	for ; ok && arguments > 0; arguments-- {
		var size int
		if size, b, ok = number(b, '$'); ok {
			if size > len(b)-2 {
				return bytes.HasPrefix([]byte("\r\n"), b[min(size, len(b)):])
			}
			if string(b[size:size+2]) != "\r\n" {
				return false
			}
			b = b[size+2:]
		}
	}
	const longest = len("$2147483647\r")
	return len(b) <= longest && !bytes.ContainsAny(b, "\n\x00")
}

// endsCommand reports whether a command ends where tail, the end of a file, does. Of one that is
// longer than tail it looks at the last two bytes.
func endsCommand(tail []byte) bool {
	if !bytes.HasSuffix(tail, []byte("\r\n")) {
		return false
	}
	begun := false
	for at := len(tail); at > 0; {
		if at = bytes.LastIndexByte(tail[:at], '*'); at < 0 || at > 0 && tail[at-1] != '\n' {
			continue
		}
		if rest, ok := command(tail[at:]); ok && len(rest) == 0 {
			return true
		}
		begun = true
	}
	return !begun
}

// command returns what follows the command that b begins with; not ok is one that is not whole.
func command(b []byte) (rest []byte, ok bool) {
	arguments, b, ok := number(b, '*')
	for ; ok && arguments > 0; arguments-- {
		var size int
		if size, b, ok = number(b, '$'); ok {
			if ok = size <= len(b)-2 && string(b[size:size+2]) == "\r\n"; ok {
				b = b[size+2:]
			}
		}
	}
	return b, ok
}

// number returns that of a line that begins with a sign, and what follows the line.
func number(b []byte, sign byte) (n int, rest []byte, ok bool) {
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	if !ok || len(line) < 2 || line[0] != sign {
		return 0, b, false
	}
	n, err := strconv.Atoi(string(line[1:]))
	return n, rest, err == nil && n >= 0
}
