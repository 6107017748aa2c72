package record

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// Query selects records by an index: those whose first fields equal Equal and whose next field is in [From, To).
// Values have the type of their field, or the one that it is made of.
type Query struct {
	Index   string
	Equal   []any
	From    any // inclusive; nil is no bound
	To      any // exclusive; nil is no bound
	Reverse bool
	Limit   int // at most so many; 0 is no limit
}

// Query returns the records that q describes in the order of its index, and of ids where that does not decide. After an
// error the walk ends. Within an Update nothing may be written while it runs.
func (r *Reader[T]) Query(q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ids, err := r.ids(q)
		if err != nil {
			yield(*new(T), err)
			return
		}
		var v T
		for _, id := range ids {
			if err := r.read(id, &v, nil); err != nil {
				if isNotFound(err) {
					err = corrupt("index %s has an entry of a record that does not exist", q.Index)
				}
				yield(*new(T), err)
				return
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// ids returns the keys of the ids of the records that q describes.
func (r *Reader[T]) ids(q Query) (ids [][]byte, err error) {
	i := slices.IndexFunc(r.c.plan.indexes, func(x index) bool { return x.Name == q.Index })
	if i < 0 {
		return nil, invalid("query", fmt.Errorf("no index %q", q.Index), "name it in Options.Indexes")
	}
	x := &r.c.plan.indexes[i]
	if err := r.current(x); err != nil {
		return nil, err
	}
	keys, err := x.rangeOf(q)
	if err != nil {
		return nil, err
	}
	scan := r.b.Pairs(keys, func(key, value []byte) bool {
		var id []byte
		if id, err = x.idOf(key, value, r.c.plan.idKind()); err != nil {
			return false
		}
		ids = append(ids, slices.Clone(id))
		return len(ids) != q.Limit
	})
	return ids, errors.Join(err, scan)
}

// current returns the Conflict of an index that another process dropped or replaced in the meantime.
func (r *Reader[T]) current(x *index) error {
	if !r.c.traits.Shared {
		return nil
	}
	text, err := r.b.Pair(nil, headerKey)
	if err != nil || bytes.Equal(text, r.c.header) {
		return err
	}
	h, err := parseHeader(text)
	if err != nil {
		return err
	}
	if now := h.index(x.Name); now == nil || !reflect.DeepEqual(*now, x.headerIndex) {
		return conflict("query", fmt.Errorf("another process dropped or replaced index %s", x.Name), "open the collection again")
	}
	return nil
}

// idOf returns the id of an entry.
func (x *index) idOf(key, value []byte, kind idKind) ([]byte, error) {
	id := value
	if !x.Unique {
		id = key[len(x.prefix):]
		for i := range x.slots {
			n := orderedLength(x.slots[i].kind, id)
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

// orderedLength returns how many bytes of key the value at its start takes, or -1.
func orderedLength(k kind, key []byte) int {
	n := 8
	switch k {
	case kindBool:
		n = 1
	case kindTime:
		n = 12
	case kindString, kindBytes:
		return textID.length(key)
	}
	if len(key) < n {
		return -1
	}
	return n
}

// rangeOf returns the range of the keys of entries.
func (x *index) rangeOf(q Query) (kv.Range, error) {
	if len(q.Equal) > len(x.slots) || len(q.Equal) == len(x.slots) && (q.From != nil || q.To != nil) {
		return kv.Range{}, invalid("query", fmt.Errorf("more values than index %s has fields", x.Name), fmt.Sprintf("it has %v", x.Fields))
	}
	prefix := slices.Clone(x.prefix)
	var err error
	for i, v := range q.Equal {
		if prefix, err = x.appendValue(prefix, i, v); err != nil {
			return kv.Range{}, err
		}
	}
	r := kv.Prefix(prefix)
	r.Reverse = q.Reverse
	if q.From != nil {
		if r.Start, err = x.appendValue(slices.Clone(prefix), len(q.Equal), q.From); err != nil {
			return r, err
		}
	}
	if q.To != nil {
		if r.End, err = x.appendValue(slices.Clone(prefix), len(q.Equal), q.To); err != nil {
			return r, err
		}
	}
	return r, nil
}

// appendValue appends a value of field i, as it stands in keys.
func (x *index) appendValue(key []byte, i int, v any) ([]byte, error) {
	s := &x.slots[i]
	from := reflect.ValueOf(v)
	if !from.IsValid() || kindOf(from.Type()) != s.kind {
		return nil, invalid("query", fmt.Errorf("index %s: %v is a %T", x.Name, v, v), fmt.Sprintf("field %s takes a %v", s.name, kinds[s.kind].typ))
	}
	p := reflect.New(kinds[s.kind].typ)
	p.Elem().Set(from.Convert(kinds[s.kind].typ))
	return appendOrdered(key, s.kind, unsafe.Pointer(p.Pointer())), nil
}
