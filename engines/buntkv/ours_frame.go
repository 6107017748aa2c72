package buntkv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Frames are ours: BuntDB writes the pairs of a transaction with nothing around them, so that it
// takes what a kill has left of one for the whole, and refuses what a power loss has left.
//
// A frame stands before each transaction. To BuntDB it is one more pair, under the empty key, which
// no program can have. The first frame of a file stands before all that a compaction wrote.
type frame struct {
	kind   byte
	at     int64  // where it begins in the file
	size   int64  // of the transaction behind it
	synced int64  // up to here the file had been synced before it was written
	sum    uint32 // of the transaction, what stands above, and the sum of the frame before
}

const (
	framed = 't' // before a transaction
	closed = 'z' // the file was closed, and all before is synced; another program's may follow
)

const (
	frameKey  = "" // kv refuses it as a key
	frameHead = "*3\r\n$3\r\nset\r\n$0\r\n\r\n$29\r\n"
	valueSize = 1 + 8 + 8 + 8 + 4
	frameSize = int64(len(frameHead) + valueSize + len("\r\n"))
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// put writes f to the beginning of b, as it stands in the file.
func (f frame) put(b []byte) {
	n := binary.BigEndian
	v := append(append(b[:0], frameHead...), f.kind)
	v = n.AppendUint64(n.AppendUint64(n.AppendUint64(v, uint64(f.at)), uint64(f.size)), uint64(f.synced))
	_ = append(n.AppendUint32(v, f.sum), "\r\n"...) // the last 6 bytes
}

// seal gives f its sum, behind a frame with the sum before; body is that of the transaction. It
// writes f to the beginning of b.
func (f frame) seal(b []byte, before, body uint32) frame {
	f.sum = before
	f.put(b)
	f.sum = crc32.Update(body, castagnoli, b[:frameSize])
	binary.BigEndian.PutUint32(b[frameSize-6:], f.sum)
	return f
}

// frameAt returns the frame that b begins with.
func frameAt(b []byte) (f frame, ok bool) {
	if int64(len(b)) < frameSize || string(b[:len(frameHead)]) != frameHead ||
		string(b[frameSize-2:frameSize]) != "\r\n" {
		return f, false
	}
	return decode(b[len(frameHead) : frameSize-2])
}

// decode returns the frame whose stored form is v.
func decode(v []byte) (f frame, ok bool) {
	if len(v) != valueSize || v[0] != framed && v[0] != closed {
		return f, false
	}
	n := binary.BigEndian
	f = frame{v[0], int64(n.Uint64(v[1:])), int64(n.Uint64(v[9:])), int64(n.Uint64(v[17:])), n.Uint32(v[25:])}
	return f, f.at >= 0 && f.size >= 0
}

// point is a place in a file up to which it is to be read.
type point struct {
	end    int64
	last   frame // before it
	others bool  // another program has written behind last
}

// examine returns up to where b, a file, is whole. What follows is what a crash has left, and to be
// cut off. What is damaged, though it was synced once, is Corrupt.
func examine(b []byte) (p point, err error) {
	for room := make([]byte, frameSize); ; {
		rest := b[p.end:]
		f, ok := frameAt(rest)
		if !ok || f.at != p.end || f.size > int64(len(rest))-frameSize {
			break
		}
		if f != f.seal(room, p.last.sum, sumOf(rest[frameSize:frameSize+f.size])) {
			break
		}
		p.end, p.last = p.end+frameSize+f.size, f
	}
	rest := b[p.end:]
	for i := 0; ; i++ { // a frame that says of a sync behind p?
		n := bytes.Index(rest[i:], []byte(frameHead))
		if n < 0 {
			break
		}
		i += n
		if f, ok := frameAt(rest[i:]); ok && f.at == p.end+int64(i) && p.end < f.synced && f.synced <= f.at {
			return p, p.damaged(b)
		}
	}
	switch begun := p.begun(rest); {
	case len(rest) == 0 || p.last.kind == framed:
	case !begun:
		p.end, p.others = int64(len(b)), true
	case p.end == 0: // the first one was synced before the file got its name
		return p, p.damaged(b)
	}
	return p, nil
}

// begun reports whether a transaction at p has left rest: other programs write nothing that begins
// so, and a power loss leaves zeroes.
func (p point) begun(rest []byte) bool {
	var b [frameSize]byte
	frame{kind: framed, at: p.end}.put(b[:])
	fixed := b[:len(frameHead)+1+8]
	if p.end == 0 {
		return bytes.HasPrefix(rest, fixed)
	}
	for i, c := range fixed[:min(len(fixed), len(rest))] {
		if rest[i] != c && rest[i] != 0 {
			return false
		}
	}
	return true
}

func (p point) damaged(b []byte) error {
	return corrupt(fmt.Sprintf("at byte %d of %d", p.end, len(b)))
}

func sumOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }
