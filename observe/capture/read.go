package capture

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/assaydb/assay/kv"
)

// What a Record is of.
const (
	Pair     = kindPair     // Key and Value were in the store at the start
	Write    = kindWrite    // a batch of Ops
	Get      = kindGet      // Key was read from the last committed state
	Snapshot = kindSnapshot // the reader ID began
	Begin    = kindBegin    // the transaction ID began
	Read     = kindRead     // ID read Key
	Len      = kindLen      // ID asked for the length of Key's value
	Walk     = kindWalk     // ID walked
	Change   = kindOp       // ID made Ops[0]
	Delete   = kindRange    // ID deleted the keys of Range
	Commit   = kindCommit   // ID was committed
	EndOf    = kindEndOf    // ID ended
	Compact  = kindCompact  // the store was compacted
)

// Record is something that a program did.
type Record struct {
	Kind  byte   // Pair, Write, ...
	ID    uint64 // of the reader or transaction, each number once
	Since uint64 // records that were made while it went on, of Write, Get, Snapshot, Begin, Commit, Compact
	At    int64  // when it began, in ms since the start, of the same
	Class kv.Durability
	Key   []byte
	Value Value // of Pair, and what Get, Read or Len found
	Ops   []Op
	Walk  Steps
}

// Value is a value of the program.
type Value struct {
	Absent bool
	Len    int    // in bytes
	Token  uint64 // that stands for it; not of Len
	Bytes  []byte // of a Pair or Op whose value was kept
}

// Op is a put or a delete.
type Op struct {
	Key    []byte
	Value  Value
	Delete bool
}

// Steps are steps of a cursor: all, or those until it moved.
type Steps struct {
	Cursor      uint64 // of the reader, from 1
	Seeks       bool   // it goes on with a cursor, from Key
	Start, End  []byte // of one that begins; nil is open
	Reverse     bool
	Keys        bool // values are not looked at
	Count       uint64
	Ended       bool // the end was found after them
	Closed      bool
	Digest      Digest // of the pairs
	First, Last []byte // keys of them, nil of none
}

// Recording is a recording that is read.
type Recording struct {
	Info Info

	// Torn tells, once Next has returned io.EOF, that the recording does not end as one that was
	// stopped: the program was killed, or the disk was full. What was read is whole.
	Torn bool

	file    *os.File
	in      *bufio.Reader
	block   []byte // what is left of it
	records uint64 // so far
	at      int64
	ended   bool
}

// mostBlock is more than any block has: a longer one is damage.
const mostBlock = 1 << 31

// Open opens a recording. A file that is none is Corrupt.
func Open(file string) (*Recording, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, wrapRead(file, err)
	}
	r := &Recording{file: f, in: bufio.NewReaderSize(f, 1<<20)}
	if err := r.begin(); err != nil {
		return nil, errors.Join(wrapRead(file, err), f.Close())
	}
	return r, nil
}

func wrapRead(file string, err error) error {
	return &kv.Error{Op: "read the recording", Path: file, Kind: kv.KindOf(err), Err: err, Hint: kv.HintOf(err)}
}

func corrupt(text string) error {
	return &kv.Error{Kind: kv.Corrupt, Err: errors.New(text), Hint: "record again: docs/replay.md"}
}

// begin reads the magic and the first block.
func (r *Recording) begin() error {
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(r.in, head); err != nil || string(head) != magic {
		return corrupt("the file is no recording")
	}
	if !r.next() || json.Unmarshal(r.block, &r.Info) != nil {
		return corrupt("the recording's first block is damaged")
	}
	if r.Info.Version != version {
		return &kv.Error{Kind: kv.Unsupported, Err: fmt.Errorf("version %d of recordings", r.Info.Version),
			Hint: fmt.Sprintf("this assay reads version %d: use a newer one", version)}
	}
	r.block = nil
	return nil
}

// next reads the next block; false where there is no whole one.
func (r *Recording) next() bool {
	var head [blockHead]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return false
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > mostBlock {
		return false
	}
	// Not made at once: the length may be damaged.
	block, err := io.ReadAll(io.LimitReader(r.in, int64(n)))
	if err != nil || len(block) < int(n) || crc32.Checksum(block, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return false
	}
	r.block = block
	return true
}

// Next returns the next record, and io.EOF behind the last whole one. What it holds stays as it is.
// A whole block that holds no records is Corrupt.
func (r *Recording) Next() (rec Record, err error) {
	for len(r.block) == 0 {
		if r.ended || !r.next() {
			r.Torn = !r.ended
			return rec, io.EOF
		}
	}
	d := decoder{b: r.block[1:], kept: r.Info.Values == Kept}
	rec.Kind = r.block[0]
	if rec.Kind == kindEnd {
		if d.number() != r.records || d.bad || len(d.b) > 0 {
			return rec, corrupt("records are missing")
		}
		r.ended, r.block = true, nil
		return rec, io.EOF
	}
	d.record(&rec, &r.at)
	if d.bad {
		return rec, corrupt(fmt.Sprintf("record %d is none", r.records))
	}
	r.records++
	r.block = d.b
	return rec, nil
}

// Close closes the file.
func (r *Recording) Close() error { return r.file.Close() }

// decoder takes fields from the front of b. After one that is not there it is bad.
type decoder struct {
	b    []byte
	kept bool
	bad  bool
}

func (d *decoder) record(r *Record, at *int64) {
	switch r.Kind {
	case Pair:
		r.Key = d.bytes()
		r.Value = d.value()
	case Write:
		d.head(r, at)
		r.Class = d.class()
		n := d.number()
		for i := uint64(0); i < n && !d.bad; i++ {
			r.Ops = append(r.Ops, d.op())
		}
	case Get:
		d.head(r, at)
		r.Key = d.bytes()
		r.Value = d.result(true)
	case Snapshot, Commit:
		d.head(r, at)
		r.ID = d.number()
	case Begin:
		d.head(r, at)
		r.ID = d.number()
		r.Class = d.class()
	case Read, Len:
		r.ID = d.number()
		r.Key = d.bytes()
		r.Value = d.result(r.Kind == Read)
	case Walk:
		r.ID = d.number()
		d.walk(&r.Walk, &r.Key)
	case Change:
		r.ID = d.number()
		r.Ops = []Op{d.op()}
	case Delete:
		r.ID = d.number()
		r.Walk.Start, r.Walk.End = d.bounds(d.byte())
	case EndOf:
		r.ID = d.number()
	case Compact:
		d.head(r, at)
	default:
		d.bad = true
	}
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.b)
	return uint64(d.took(n, size))
}

// took moves behind a number that was read.
func (d *decoder) took(n uint64, size int) uint64 {
	if size <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) head(r *Record, at *int64) {
	n, size := binary.Varint(d.b)
	*at += int64(d.took(uint64(n), size))
	r.At = *at
	r.Since = d.number()
}

func (d *decoder) byte() byte { return d.some(1)[0] }

// some returns the next n bytes; zeros where there are fewer, and none of more than a block has.
func (d *decoder) some(n int) []byte {
	if n < 0 || n > len(d.b) {
		d.bad = true
		return make([]byte, max(min(n, 8), 0))
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) bytes() []byte {
	n := d.number()
	if n > uint64(len(d.b)) {
		d.bad = true
		return nil
	}
	return d.some(int(n))
}

func (d *decoder) class() kv.Durability {
	c := kv.Durability(d.byte())
	d.bad = d.bad || c > kv.Buffered
	return c
}

func (d *decoder) token(n int) uint64 {
	var all [8]byte
	copy(all[:], d.some(tokenBytes(d.kept, n)))
	return binary.LittleEndian.Uint64(all[:])
}

// mostValue is more than any value has.
const mostValue = 1 << 31

func (d *decoder) length(n uint64) int {
	if n > mostValue {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) value() (v Value) {
	v.Len = d.length(d.number())
	if d.kept {
		v.Bytes = d.some(v.Len)
		v.Token = uint64(crc32.Checksum(v.Bytes, castagnoli))
		return v
	}
	v.Token = d.token(v.Len)
	return v
}

// result is what a read found, or the length alone.
func (d *decoder) result(token bool) (v Value) {
	n := d.number()
	if n == 0 {
		return Value{Absent: true}
	}
	v.Len = d.length(n - 1)
	if token {
		v.Token = d.token(v.Len)
	}
	return v
}

func (d *decoder) op() (op Op) {
	op.Delete = d.byte() != 0
	op.Key = d.bytes()
	if !op.Delete {
		op.Value = d.value()
	}
	return op
}

func (d *decoder) bounds(flags byte) (start, end []byte) {
	if flags&walkStart != 0 {
		start = d.bytes()
	}
	if flags&walkEnd != 0 {
		end = d.bytes()
	}
	return start, end
}

func (d *decoder) walk(w *Steps, key *[]byte) {
	w.Cursor = d.number()
	flags := d.byte()
	w.Seeks, w.Closed, w.Ended = flags&walkSeek != 0, flags&walkLast != 0, flags&walkEnded != 0
	w.Reverse, w.Keys = flags&walkReverse != 0, flags&walkKeys != 0
	if w.Seeks {
		*key = d.bytes()
	} else {
		w.Start, w.End = d.bounds(flags)
	}
	if w.Count = d.number(); w.Count > 0 {
		w.Digest = Digest(binary.LittleEndian.Uint64(d.some(8)))
		w.First, w.Last = d.bytes(), d.bytes()
	}
}
