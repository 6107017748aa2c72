package detect

import (
	"bytes"
	"encoding/binary"
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
// pair whose key is empty and whose value of 29 bytes begins with its kind (z ends the file of a
// store that was closed), its place in the file (8 bytes), and the size of the transaction (8).
const buntFrame = "*3\r\n$3\r\nset\r\n$0\r\n\r\n$29\r\n"

const buntFrameEnd, buntFrameSize = 29 + len("\r\n"), 1 + 8 // behind that: where it ends, where that size stands

// bunt looks at the end of a file. One with frames was closed if a frame that says so is its end.
// One without has nothing that tells of its end: cut behind a command, it is whole.
func bunt(path string, head []byte) (Found, error) {
	tail, size, err := tailOf(path, headBytes)
	found := Found{Engine: "bunt", State: Clean}
	switch {
	case err != nil:
	case bytes.HasPrefix(head, []byte(buntFrame)):
		first := int64(len(buntFrame) + buntFrameEnd)
		if size >= first {
			first += int64(binary.BigEndian.Uint64(head[len(buntFrame)+buntFrameSize:]))
		}
		if size < first { // which was synced before the file got its name
			return found.short("the file", size, first), nil
		}
		at := len(tail) - len(buntFrame) - buntFrameEnd
		if at < 0 || !closedFrame(tail[at:], size-int64(len(tail)-at)) {
			found.State, found.Detail = Recovery, "it was not closed, or lacks its end"
		}
	case !endsCommand(tail):
		found.State, found.Detail = Recovery, "it ends within a command"
	}
	return found, err
}

func closedFrame(b []byte, at int64) bool {
	value, ok := bytes.CutPrefix(b, []byte(buntFrame))
	return ok && value[0] == 'z' && binary.BigEndian.Uint64(value[1:]) == uint64(at) &&
		bytes.HasSuffix(value, []byte("\r\n"))
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
			if ok = len(b) >= size+2; ok {
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
