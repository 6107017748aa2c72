package record

import (
	"fmt"
	"strconv"

	"github.com/assaydb/assay/kv"
)

// ID is what identifies a record: a signed or unsigned integer, or a text. The zero ID is none.
type ID struct {
	kind idKind
	n    uint64
	text string
}

type idKind uint8

const (
	noID idKind = iota
	intID
	uintID
	textID
)

var idNames = [...]string{noID: "none", intID: "int", uintID: "uint", textID: "text"}

// Int returns the ID of a record whose id is a signed integer of any size.
func Int(n int64) ID { return ID{kind: intID, n: uint64(n)} }

// Uint returns the ID of a record whose id is an unsigned integer of any size.
func Uint(n uint64) ID { return ID{kind: uintID, n: n} }

// Text returns the ID of a record whose id is a string.
func Text(s string) ID { return ID{kind: textID, text: s} }

// Int64 returns the number of an ID that is a signed integer, Uint64 of an unsigned one.
func (id ID) Int64() int64 { return int64(id.n) }

// Uint64 returns the number of an ID that is an unsigned integer.
func (id ID) Uint64() uint64 { return id.n }

// String returns the id as text.
func (id ID) String() string {
	switch id.kind {
	case intID:
		return strconv.FormatInt(int64(id.n), 10)
	case uintID:
		return strconv.FormatUint(id.n, 10)
	}
	return id.text
}

// AppendKey appends the id to key so that keys sort as ids do: 8 bytes, big-endian, with the sign
// bit of a signed integer flipped; a text as kv.AppendString writes it.
func (id ID) AppendKey(key []byte) []byte {
	switch id.kind {
	case intID:
		return kv.AppendUint64(key, id.n^1<<63)
	case uintID:
		return kv.AppendUint64(key, id.n)
	}
	return kv.AppendString(key, id.text)
}

// cutID returns the id at the start of key, and what follows it.
func (k idKind) cutID(key []byte) (ID, []byte, bool) {
	n := k.length(key)
	if n < 0 {
		return ID{}, nil, false
	}
	if k == textID {
		text, rest, ok := kv.CutString(key)
		return Text(text), rest, ok
	}
	number, _ := kv.LastUint64(key[:8])
	if k == intID {
		number ^= 1 << 63
	}
	return ID{kind: k, n: number}, key[8:], true
}

// length returns how many bytes the id at the start of key takes, or -1.
func (k idKind) length(key []byte) int {
	if k != textID {
		if len(key) < 8 {
			return -1
		}
		return 8
	}
	for i := 0; i+1 < len(key); i++ {
		if key[i] == 0 {
			if key[i+1] == 1 {
				return i + 2
			}
			i++
		}
	}
	return -1
}

// idKindOf returns the kind of ids in fields of a kind, or noID.
func idKindOf(k kind) idKind {
	switch {
	case k.signed():
		return intID
	case k.unsigned():
		return uintID
	case k == kindString:
		return textID
	}
	return noID
}

// check returns an error unless id is of the kind k.
func (k idKind) check(op string, id ID) error {
	if id.kind == k {
		return nil
	}
	return invalid(op, fmt.Errorf("an id of kind %s, the collection's are %s", idNames[id.kind], idNames[k]),
		"make it with "+map[idKind]string{intID: "record.Int", uintID: "record.Uint", textID: "record.Text"}[k])
}

// Span selects records by id. The zero Span is all of them in ascending order.
type Span struct {
	From    ID   // the first, inclusive; the zero ID is no bound
	To      ID   // the end, exclusive; the zero ID is no bound
	Reverse bool // the last first
	Limit   int  // at most so many; 0 is no limit, less is Invalid
}

// keys returns the span as a range of the keys of ids.
func (k idKind) keys(op string, s Span) (r kv.Range, err error) {
	if s.Limit < 0 {
		return r, invalid(op, fmt.Errorf("limit %d", s.Limit), "give 0 for none, or a number")
	}
	r.Reverse = s.Reverse
	if s.From.kind != noID {
		if err := k.check(op, s.From); err != nil {
			return r, err
		}
		r.Start = s.From.AppendKey(nil)
	}
	if s.To.kind != noID {
		if err := k.check(op, s.To); err != nil {
			return r, err
		}
		r.End = s.To.AppendKey(nil)
	}
	return r, nil
}
