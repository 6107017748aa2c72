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

// Query selects records by an index: those whose first fields equal Equal and whose next field is
// in [From, To), and for which every condition of Where holds. Values have the type of their field,
// or the one that it is made of.
type Query struct {
	Index   string // "" is the order of ids: Equal, From and To are of the field with the id
	Equal   []any
	From    any         // inclusive; nil is no bound
	To      any         // exclusive; nil is no bound
	Where   []Condition // each is looked at in every record that the index gives
	Reverse bool
	Limit   int // at most so many; 0 is no limit
}

// Condition is one of a field, in an index or not: that it equals Equal, or is in [From, To). Nil
// asks for nothing.
type Condition struct {
	Field    string // its stored name
	Equal    any
	From, To any
}

// Query returns the records that q describes in the order of its index, and of ids where that does not decide. After an
// error the walk ends. Within an Update nothing may be written while it runs.
func (r *Reader[T]) Query(q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ended := false
		err := r.find(q, true, func(_ []byte, v *T) bool {
			ended = !yield(*v, nil)
			return !ended
		})
		if err != nil && !ended {
			yield(*new(T), err)
		}
	}
}

// Count returns how many records q describes. Without conditions no record is read.
func (r *Reader[T]) Count(q Query) (n int, err error) {
	err = r.find(q, false, func([]byte, *T) bool { n++; return true })
	return n, err
}

// DeleteWhere removes the records that q describes and returns how many they were.
func (w *Writer[T]) DeleteWhere(q Query) (int, error) {
	var ids [][]byte
	err := w.find(q, false, func(id []byte, _ *T) bool {
		ids = append(ids, slices.Clone(id))
		return true
	})
	for _, id := range ids {
		if err == nil {
			w.key = append(w.key[:0], id...)
			err = w.remove()
		}
	}
	if err != nil {
		return 0, w.ended(err)
	}
	return len(ids), nil
}

// find calls fn with the key of the id of each record that q describes until it returns false; and
// with the record, if it is to be loaded.
func (r *Reader[T]) find(q Query, load bool, fn func(id []byte, v *T) bool) error {
	x, err := r.lookup(q.Index)
	if err != nil {
		return err
	}
	keys, err := x.rangeOf(q)
	if err != nil {
		return err
	}
	where, err := r.c.plan.matcher(q.Where)
	if err != nil {
		return err
	}
	load = load || where != nil
	var v T
	n := 0
	step := func(id []byte) bool {
		if !where.match(unsafe.Pointer(&v)) {
			return true
		}
		n++
		return fn(id, &v) && n != q.Limit
	}
	if q.Index == "" {
		scan := r.b.Rows(keys, r.row, func(id []byte) bool {
			if load {
				if err = r.decode(&v, nil); err != nil {
					return false
				}
			}
			return step(id)
		})
		return errors.Join(err, scan)
	}
	var ids [][]byte
	scan := r.b.Pairs(keys, func(key, value []byte) bool {
		var id []byte
		if id, err = x.idOf(key, value, r.c.plan.idKind()); err != nil {
			return false
		}
		if !load {
			return step(id)
		}
		ids = append(ids, slices.Clone(id))
		return where != nil || len(ids) != q.Limit
	})
	if err := errors.Join(err, scan); err != nil {
		return err
	}
	for _, id := range ids {
		if err := r.read(id, &v, nil); err != nil {
			if isNotFound(err) {
				err = corrupt("index %s has an entry of a record that does not exist", q.Index)
			}
			return err
		}
		if !step(id) {
			break
		}
	}
	return nil
}

// lookup returns an index; the one called "" is the order of ids, whose keys are those of rows.
func (r *Reader[T]) lookup(name string) (*index, error) {
	p := r.c.plan
	if name == "" {
		return p.alone(p.id.name), nil
	}
	i := slices.IndexFunc(p.indexes, func(x index) bool { return x.Name == name })
	if i < 0 {
		return nil, invalid("query", fmt.Errorf("no index %q", name), "name it in Options.Indexes")
	}
	return &p.indexes[i], r.current(&p.indexes[i])
}

// alone returns what is like an index of one field, without a prefix, or nil if there is no such
// field.
func (p *plan) alone(field string) *index {
	s := p.named(field)
	if s == nil {
		return nil
	}
	return &index{headerIndex: headerIndex{Name: "of the field " + field, Fields: []string{field}}, slots: []slot{*s}}
}

// matcher is conditions: the ordered bytes of each field are in a range.
type matcher []struct {
	slot slot
	keys kv.Range
}

func (p *plan) matcher(list []Condition) (m matcher, err error) {
	for _, c := range list {
		x := p.alone(c.Field)
		if x == nil {
			return nil, invalid("query", fmt.Errorf("no field %q", c.Field), "use one of "+p.fieldNames())
		}
		q := Query{From: c.From, To: c.To}
		if c.Equal != nil {
			q.Equal = []any{c.Equal}
		}
		keys, err := x.rangeOf(q)
		if err != nil {
			return nil, err
		}
		m = append(m, struct {
			slot slot
			keys kv.Range
		}{x.slots[0], keys})
	}
	return m, nil
}

// match reports whether all conditions hold for a record.
func (m matcher) match(rec unsafe.Pointer) bool {
	for i := range m {
		key := appendOrdered(nil, m[i].slot.kind, m[i].slot.at(memory{rec: rec}))
		if bytes.Compare(key, m[i].keys.Start) < 0 || m[i].keys.End != nil && bytes.Compare(key, m[i].keys.End) >= 0 {
			return false
		}
	}
	return true
}

// current returns the Conflict of an index that another process dropped or replaced in the
// meantime.
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
		err := fmt.Errorf("another process dropped or replaced index %s", x.Name)
		return conflict("query", err, "open the collection again")
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
