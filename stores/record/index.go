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
// Numbers are big-endian; values are as appendOrdered writes them, ids as in keys of records. A
// slice gives an entry for each of its elements, but none twice.
type index struct {
	headerIndex
	slots  []slot
	orders []*shape // of the slots; of a slice, that of its elements
	multi  int      // which slot is a slice, or -1
	prefix []byte
}

const indexPrefix = 'i'

func newIndex(s *schema, h headerIndex) (index, error) {
	x := index{headerIndex: h, multi: -1, prefix: binary.BigEndian.AppendUint16([]byte{indexPrefix}, uint16(h.Number))}
	for i, name := range h.Fields {
		slot := s.named(name)
		if slot == nil {
			if h.Building {
				return x, nil // it is removed
			}
			return x, mismatch(fmt.Errorf("index %s has the field %s, which the type lacks", h.Name, name),
				"name the index in Options.DropIndexes, or give the type the field")
		}
		order := slot.shape
		if order.kind == kindList && x.multi < 0 {
			x.multi, order = i, order.elem
		}
		if !order.ordered() {
			return x, invalid("open collection", fmt.Errorf("index %s: field %s is a %v, which has no order there",
				h.Name, name,
				&s.header.field(slot.number).form),
				"index a bool, a number, a time, a text, bytes, a pointer to one of them, or one slice of them")
		}
		x.slots, x.orders = append(x.slots, *slot), append(x.orders, order)
	}
	return x, nil
}

// keys sets list to the keys of a record's entries, in order and each once.
func (x *index) keys(list [][]byte, rec unsafe.Pointer, id []byte) [][]byte {
	list = list[:0]
	if x.multi < 0 {
		return x.addKey(list, rec, id, nil)
	}
	s := &x.slots[x.multi]
	elems := s.shape.value(s.at(memory{rec: rec}))
	for i := range elems.Len() {
		list = x.addKey(list, rec, id, elems.Index(i).Addr().UnsafePointer())
	}
	slices.SortFunc(list, bytes.Compare)
	return slices.CompactFunc(list, bytes.Equal)
}

// addKey adds the key of an entry, with an element of the field that is a slice.
func (x *index) addKey(list [][]byte, rec unsafe.Pointer, id []byte, elem unsafe.Pointer) [][]byte {
	var key []byte
	if n := len(list); n < cap(list) {
		key = list[:n+1][n][:0]
	}
	key = append(key, x.prefix...)
	for i := range x.slots {
		at := elem
		if i != x.multi {
			at = x.slots[i].at(memory{rec: rec})
		}
		key = x.orders[i].appendOrdered(key, at)
	}
	if !x.Unique {
		key = append(key, id...)
	}
	return append(list, key)
}

// value returns the value of an entry.
func (x *index) value(id []byte) []byte {
	if x.Unique {
		return id
	}
	return nil
}

// idOf returns the id of an entry.
func (x *index) idOf(key, value []byte, kind idKind) ([]byte, error) {
	id := value
	if !x.Unique {
		id = key[len(x.prefix):]
		for i := range x.orders {
			n := x.orders[i].orderedLength(id)
			if n < 0 {
				return nil, corrupt("index %s: entry %q", x.Name, key)
			}
			id = id[n:]
		}
	}
	if kind.length(id) != len(id) {
		return nil, corrupt("index %s: entry %q", x.Name, key)
	}
	return id, nil
}

// values returns what the fields of a record are, for errors.
func (x *index) values(rec unsafe.Pointer) string {
	var all []string
	for i := range x.slots {
		all = append(all, x.slots[i].name+" "+x.slots[i].shape.format(x.slots[i].at(memory{rec: rec})))
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

// indexChange is an entry to add or to remove.
type indexChange struct {
	x   *index
	key []byte
	add bool
}

// planIndexes finds out what to do to the indexes if a record changes from old to rec, of which one
// may be nil. A unique index that has another record's entry in the place is a Conflict.
func (w *Writer[T]) planIndexes(id []byte, old, rec unsafe.Pointer) error {
	w.changes = w.changes[:0]
	if w.damaged && old != nil {
		if err := w.removeAll(id); err != nil {
			return err
		}
		old = nil
	}
	for i := range w.c.plan.indexes {
		x := &w.c.plan.indexes[i]
		var before, after [][]byte
		if old != nil {
			before = x.keys(w.room(2*i), old, id)
			w.entries[2*i] = before
		}
		if rec != nil {
			after = x.keys(w.room(2*i+1), rec, id)
			w.entries[2*i+1] = after
		}
		for _, key := range before {
			if !contains(after, key) {
				w.changes = append(w.changes, indexChange{x: x, key: key})
			}
		}
		for _, key := range after {
			if contains(before, key) {
				continue
			}
			if x.Unique {
				if err := w.vacant(x, key, id, rec); err != nil {
					return err
				}
			}
			w.changes = append(w.changes, indexChange{x, key, true})
		}
	}
	return nil
}

// room returns memory for keys of entries.
func (w *Writer[T]) room(i int) [][]byte {
	for len(w.entries) <= i {
		w.entries = append(w.entries, nil)
	}
	return w.entries[i]
}

func contains(keys [][]byte, key []byte) bool {
	_, found := slices.BinarySearchFunc(keys, key, bytes.Compare)
	return found
}

// removeAll plans to remove the entries of a record that cannot be decoded, for which every entry
// is read.
func (w *Writer[T]) removeAll(id []byte) error {
	for i := range w.c.plan.indexes {
		x := &w.c.plan.indexes[i]
		for key, value := range w.s.Scan(kv.Prefix(x.prefix)) {
			if owner, err := x.idOf(key, value, w.c.plan.idKind()); err == nil && bytes.Equal(owner, id) {
				w.changes = append(w.changes, indexChange{x: x, key: slices.Clone(key)})
			}
		}
		if err := w.s.Err(); err != nil {
			return err
		}
	}
	return nil
}

// vacant returns the Conflict of an entry that belongs to a record other than id.
func (w *Writer[T]) vacant(x *index, key, id []byte, rec unsafe.Pointer) error {
	owner, err := w.s.Get(key)
	if isNotFound(err) || err == nil && bytes.Equal(owner, id) {
		return nil
	}
	if err != nil {
		return err
	}
	other, _, _ := w.c.plan.idKind().cutID(owner)
	return duplicate("put", fmt.Sprintf("unique index %s: record %v has %s", x.Name, other, x.values(rec)),
		Duplicate{Index: x.Name, Owner: other}, "change that record first, or use other values")
}

// writeIndexes does what planIndexes found.
func (w *Writer[T]) writeIndexes(id []byte) error {
	for _, change := range w.changes {
		var err error
		if change.add {
			err = w.tx.Put(change.key, change.x.value(id))
		} else {
			err = w.tx.Delete(change.key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
