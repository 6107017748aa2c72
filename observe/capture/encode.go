package capture

import (
	"encoding/binary"
	"encoding/json"
	"os"
)

// encoder puts fields behind those of a block.
type encoder struct {
	block []byte // with room for its head
	kept  bool   // values
	last  int64  // the time of the last record that has one
}

// The functions that begin with append take and return a block, and not an encoder, so that the
// compiler keeps it in registers from one to the next.

func appendNumber(b []byte, n uint64) []byte {
	if n < 0x80 { // nearly all are, and a call costs more than the rest
		return append(b, byte(n))
	}
	return binary.AppendUvarint(b, n)
}

// appendKey puts bytes with their length.
func appendKey(b, k []byte) []byte { return append(appendNumber(b, uint64(len(k))), k...) }

func (e *encoder) number(n uint64) { e.block = appendNumber(e.block, n) }

func (e *encoder) byte(b byte) { e.block = append(e.block, b) }

func (e *encoder) key(k []byte) { e.block = appendKey(e.block, k) }

// token8 puts a token of a value of n bytes.
func (e *encoder) token8(n int, token uint64) { e.block = appendToken(e.block, e.kept, n, token) }

// head puts when something began, and how many records were made since.
func (e *encoder) head(at int64, since uint64) { e.block = e.appendHead(e.block, at, since) }

func (e *encoder) appendHead(b []byte, at int64, since uint64) []byte {
	if at != e.last {
		b = binary.AppendVarint(b, at-e.last)
		e.last = at
	} else {
		b = append(b, 0)
	}
	return appendNumber(b, since)
}

// result puts what was read: the length of the value and its token, or that there is none.
func (e *encoder) result(n int, token uint64, found bool) {
	if !found {
		e.byte(0)
		return
	}
	e.number(uint64(n) + 1)
	e.token8(n, token)
}

// bounds puts flags, with those of the bounds, and the bounds that there are.
func (e *encoder) bounds(flags byte, start, end []byte) {
	if start != nil {
		flags |= walkStart
	}
	if end != nil {
		flags |= walkEnd
	}
	e.byte(flags)
	if start != nil {
		e.key(start)
	}
	if end != nil {
		e.key(end)
	}
}

// walk puts steps of a cursor, from key if they go on with it.
func (e *encoder) walk(w *Steps, key []byte) {
	flags := flag(walkSeek, w.Seeks) | flag(walkLast, w.Closed) | flag(walkReverse, w.Reverse) |
		flag(walkKeys, w.Keys) | flag(walkEnded, w.Ended)
	e.number(w.Cursor)
	if w.Seeks {
		e.byte(flags)
		e.key(key)
	} else {
		e.bounds(flags, w.Start, w.End)
	}
	if e.number(w.Count); w.Count > 0 {
		e.block = binary.LittleEndian.AppendUint64(e.block, uint64(w.Digest))
		e.key(w.First)
		e.key(w.Last)
	}
}

// flag returns f if it is set.
func flag(f byte, set bool) byte {
	if set {
		return f
	}
	return 0
}

// writer writes records that were read.
type writer struct {
	encoder
	file    *os.File
	records uint64
}

func newWriter(f *os.File) *writer { return &writer{file: f} }

// begin writes what stands before the records.
func (w *writer) begin(info Info) error {
	w.kept = info.Values == Kept
	head, err := json.Marshal(info)
	if err != nil {
		return err
	}
	if _, err := w.file.WriteString(magic); err != nil {
		return err
	}
	w.block = append(make([]byte, blockHead), head...)
	return w.flush()
}

// flush writes the block.
func (w *writer) flush() error {
	seal(w.block)
	_, err := w.file.Write(w.block)
	w.block = w.block[:blockHead]
	return err
}

// finish writes what is left, and that it is all.
func (w *writer) finish() error {
	w.byte(kindEnd)
	w.number(w.records)
	return w.flush()
}

// record writes a record.
func (w *writer) record(r *Record) error {
	w.byte(r.Kind)
	switch r.Kind {
	case Pair:
		w.key(r.Key)
		w.value(&r.Value)
	case Write:
		w.head(r.At, r.Since)
		w.byte(byte(r.Class))
		w.number(uint64(len(r.Ops)))
		for i := range r.Ops {
			w.op(&r.Ops[i])
		}
	case Get:
		w.head(r.At, r.Since)
		w.key(r.Key)
		w.result(r.Value.Len, r.Value.Token, !r.Value.Absent)
	case Snapshot, Commit:
		w.head(r.At, r.Since)
		w.number(r.ID)
	case Begin:
		w.head(r.At, r.Since)
		w.number(r.ID)
		w.byte(byte(r.Class))
	case Compact:
		w.head(r.At, r.Since)
	default:
		w.number(r.ID)
		w.inside(r)
	}
	w.records++
	if len(w.block) < blockSize {
		return nil
	}
	return w.flush()
}

// inside writes what a reader or transaction did.
func (w *writer) inside(r *Record) {
	switch r.Kind {
	case Read:
		w.key(r.Key)
		w.result(r.Value.Len, r.Value.Token, !r.Value.Absent)
	case Len:
		w.key(r.Key)
		if r.Value.Absent {
			w.byte(0)
		} else {
			w.number(uint64(r.Value.Len) + 1)
		}
	case Walk:
		w.walk(&r.Walk, r.Key)
	case Change:
		w.op(&r.Ops[0])
	case Delete:
		w.bounds(0, r.Walk.Start, r.Walk.End)
	}
}

func (w *writer) value(v *Value) {
	if w.kept {
		w.key(v.Bytes)
		return
	}
	w.number(uint64(v.Len))
	w.token8(v.Len, v.Token)
}

func (w *writer) op(op *Op) {
	if op.Delete {
		w.byte(1)
		w.key(op.Key)
		return
	}
	w.byte(0)
	w.key(op.Key)
	w.value(&op.Value)
}
