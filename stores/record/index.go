package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// index is an index of the header, seen from the program's type.
//
//	'i' number(2) values id  -> ""  of an index that is not unique
//	'i' number(2) values     -> id  of a unique one
//
// Numbers are big-endian; values are as appendOrdered writes them, ids as in keys of records.
type index struct {
	headerIndex
	slots  []slot
	prefix []byte
}

const indexPrefix = 'i'

func newIndex(s *schema, h headerIndex) (index, error) {
	x := index{headerIndex: h, prefix: binary.BigEndian.AppendUint16([]byte{indexPrefix}, uint16(h.Number))}
	for _, name := range h.Fields {
		slot := s.named(name)
		if slot == nil {
			return x, mismatch(fmt.Errorf("index %s has the field %s, which the type lacks", h.Name, name),
				"drop the index with a program whose type has the field")
		}
		x.slots = append(x.slots, *slot)
	}
	return x, nil
}

// appendKey appends the key of a record's entry.
func (x *index) appendKey(key []byte, rec unsafe.Pointer, id []byte) []byte {
	key = append(key, x.prefix...)
	for i := range x.slots {
		key = appendOrdered(key, x.slots[i].kind, x.slots[i].at(memory{rec: rec}))
	}
	if x.Unique {
		return key
	}
	return append(key, id...)
}

// value returns the value of an entry.
func (x *index) value(id []byte) []byte {
	if x.Unique {
		return id
	}
	return nil
}

// values returns what the fields of a record are, for errors.
func (x *index) values(rec unsafe.Pointer) string {
	var all []string
	for i := range x.slots {
		all = append(all, x.slots[i].name+" "+format(x.slots[i].kind, x.slots[i].at(memory{rec: rec})))
	}
	return strings.Join(all, ", ")
}

// indexed reports whether a field is in an index.
func (p *plan) indexed(number int) bool {
	for i := range p.indexes {
		if slices.ContainsFunc(p.indexes[i].slots, func(s slot) bool { return s.number == number }) {
			return true
		}
	}
	return false
}

// indexChange is what to do to an index for one record.
type indexChange struct {
	x      *index
	remove []byte // key of the entry, nil if there was none
	add    []byte // key of the entry, nil if there is none
}

// planIndexes finds out what to do to the indexes if a record changes from old to rec, of which one may be nil. A unique
// index that has another record's entry in the place is a Conflict.
func (w *Writer[T]) planIndexes(id []byte, old, rec unsafe.Pointer) error {
	w.changes = w.changes[:0]
	if w.damaged && old != nil {
		if err := w.removeAll(id); err != nil {
			return err
		}
		old = nil
	}
	for i := range w.c.plan.indexes {
		change := indexChange{x: &w.c.plan.indexes[i]}
		if old != nil {
			change.remove = change.x.appendKey(nil, old, id)
		}
		if rec != nil {
			change.add = change.x.appendKey(nil, rec, id)
		}
		if bytes.Equal(change.remove, change.add) {
			continue
		}
		if change.x.Unique && change.add != nil {
			if err := w.vacant(change.x, change.add, id, rec); err != nil {
				return err
			}
		}
		w.changes = append(w.changes, change)
	}
	return nil
}

// removeAll plans to remove the entries of a record that cannot be decoded, for which every entry
// is read.
func (w *Writer[T]) removeAll(id []byte) error {
	for i := range w.c.plan.indexes {
		x := &w.c.plan.indexes[i]
		err := w.b.Pairs(kv.Prefix(x.prefix), func(key, value []byte) bool {
			if owner, err := x.idOf(key, value, w.c.plan.idKind()); err == nil && bytes.Equal(owner, id) {
				w.changes = append(w.changes, indexChange{x: x, remove: slices.Clone(key)})
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// vacant returns the Conflict of an entry that belongs to a record other than id.
func (w *Writer[T]) vacant(x *index, key, id []byte, rec unsafe.Pointer) error {
	owner, err := w.b.Pair(nil, key)
	if isNotFound(err) || err == nil && bytes.Equal(owner, id) {
		return nil
	}
	if err != nil {
		return err
	}
	other, _, _ := w.c.plan.idKind().cutID(owner)
	return conflict("put", fmt.Errorf("unique index %s: record %v has %s", x.Name, other, x.values(rec)), "change that record first, or use other values")
}

// writeIndexes does what planIndexes found.
func (w *Writer[T]) writeIndexes(id []byte) error {
	for _, change := range w.changes {
		if change.remove != nil {
			if err := w.w.DeletePair(change.remove); err != nil {
				return err
			}
		}
		if change.add != nil {
			if err := w.w.SetPair(change.add, change.x.value(id)); err != nil {
				return err
			}
		}
	}
	return nil
}
