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
// or the one that it is made of; of a field that is a slice, that of its elements; of one that is a
// pointer, that of what it points to, or nil. A record comes once, whatever its entries.
type Query struct {
	Index   string // "" is the order of ids: Equal, From and To are of the field with the id
	Equal   []any
	From    any         // inclusive; nil is no bound
	To      any         // exclusive; nil is no bound
	Where   []Condition // each is looked at in every record that the index gives
	Reverse bool
	Offset  int    // so many are passed over, before the first page, which costs what reading them does
	Limit   int    // at most so many; 0 is no limit, less is Invalid
	After   []byte // where the page before ended: what Page returned for the same query
}

// Condition is one of a field, in an index or not: that it equals Equal or one of In, or is in
// [From, To). Nil asks for nothing. Of a field that is a slice it is that an element does.
type Condition struct {
	Field    string // its stored name
	Equal    any
	In       []any
	From, To any
	Not      bool // that it does not
}

// Query returns the records that q describes in the order of its index, and of ids where that does
// not decide. After an error the walk ends. Within an Update nothing may be written while it runs.
func (r *Reader[T]) Query(q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ended := false
		err := r.find(q, true, func(_, _ []byte, v *T) bool {
			ended = !yield(*v, nil)
			return !ended
		})
		if err != nil && !ended {
			yield(*new(T), err)
		}
	}
}

// Page returns the records that q describes, at most q.Limit, and where the next page begins: see
// [Collection.Page].
func (r *Reader[T]) Page(q Query) (list []T, next []byte, err error) {
	if q.Limit <= 0 {
		return nil, nil, invalid("page", errors.New("Query.Limit is not set"), "set it to the length of a page")
	}
	limit := q.Limit
	q.Limit++ // to see whether more follows
	var last []byte
	err = r.find(q, true, func(key, _ []byte, v *T) bool {
		if len(list) == limit {
			next = last
			return false
		}
		list, last = append(list, *v), append(last[:0], key...)
		return true
	})
	return list, next, err
}

// Count returns how many records q describes. Without conditions no record is read, but by an index
// of a slice of which not every value is given.
func (r *Reader[T]) Count(q Query) (n int, err error) {
	err = r.find(q, false, func(_, _ []byte, _ *T) bool { n++; return true })
	return n, err
}

// DeleteWhere removes the records that q describes and returns how many they were.
func (w *Writer[T]) DeleteWhere(q Query) (int, error) {
	var ids [][]byte
	err := w.find(q, false, func(_, id []byte, _ *T) bool {
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

// find calls fn with the key of the entry, or of the record in the order of ids, and the key of the
// id of each record that q describes until it returns false; and with the record, if it is to be
// loaded.
func (r *Reader[T]) find(q Query, load bool, fn func(key, id []byte, v *T) bool) error {
	if q.Limit < 0 || q.Offset < 0 { // not taken for no limit: DeleteWhere would remove all
		return invalid("query", fmt.Errorf("limit %d, offset %d", q.Limit, q.Offset), "give 0 for none, or a number")
	}
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
	once := x.multi >= len(q.Equal) // one record may have several entries in the range
	f := finder[T]{r: r, x: x, keys: keys, where: where, load: load || where != nil || once, once: once,
		skip: q.Offset, limit: q.Limit, fn: fn}
	if q.After != nil {
		if !within(q.After, keys) {
			return invalid("query", errors.New("Query.After is of another query"),
				"give what Page returned for this one")
		}
		f.skip = 0 // it was done before the first page
		if q.Reverse {
			keys.End = q.After
		} else {
			keys.Start = kv.After(q.After)
		}
	}
	if q.Index == "" {
		ids := kv.Range{Start: keys.Start[len(rowPrefix):], Reverse: q.Reverse, KeysOnly: !f.load}
		if len(keys.End) > 1 {
			ids.End = keys.End[len(rowPrefix):]
		}
		err := r.scan(ids, f.record)
		return errors.Join(f.err, err)
	}
	keys.KeysOnly = !x.Unique
	for key, value := range r.s.Scan(keys) {
		if !f.entry(key, value) {
			break
		}
	}
	return errors.Join(f.err, r.s.Err())
}

// finder is one walk of find.
type finder[T any] struct {
	r           *Reader[T]
	x           *index
	keys        kv.Range // of the whole query
	where       matcher
	load, once  bool
	skip, limit int
	fn          func(key, id []byte, v *T) bool
	n           int
	v           T
	entries     [][]byte
	err         error
}

// record takes a record of a walk in the order of ids.
func (f *finder[T]) record(id []byte) bool {
	if f.load {
		if f.err = f.r.decode(&f.v, nil); f.err != nil {
			return false
		}
	}
	f.r.full = join(f.r.full, rowPrefix, id)
	return f.take(f.r.full, id)
}

// entry takes an entry of an index.
func (f *finder[T]) entry(key, value []byte) bool {
	var id []byte
	if id, f.err = f.x.idOf(key, value, f.r.c.plan.idKind()); f.err != nil {
		return false
	}
	if f.load {
		if f.err = f.r.read(id, &f.v, nil); f.err != nil {
			if isNotFound(f.err) {
				f.err = corrupt("index %s has an entry of a record that does not exist", f.x.Name)
			}
			return false
		}
	}
	if f.once && !f.first(key, id) {
		return true
	}
	return f.take(key, id)
}

// first reports whether an entry is the first one of its record that the whole query meets.
func (f *finder[T]) first(key, id []byte) bool {
	f.entries = f.x.keys(f.entries, unsafe.Pointer(&f.v), id)
	inside := slices.DeleteFunc(f.entries, func(key []byte) bool { return !within(key, f.keys) })
	if len(inside) == 0 {
		return true
	}
	at := 0
	if f.keys.Reverse {
		at = len(inside) - 1
	}
	return bytes.Equal(inside[at], key)
}

// take gives a record to fn if it is one, and reports whether more are wanted.
func (f *finder[T]) take(key, id []byte) bool {
	if !f.where.match(unsafe.Pointer(&f.v)) {
		return true
	}
	if f.skip > 0 {
		f.skip--
		return true
	}
	f.n++
	return f.fn(key, id, &f.v) && f.n != f.limit
}

// within reports whether a key is in a range.
func within(key []byte, r kv.Range) bool {
	return bytes.Compare(key, r.Start) >= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0)
}

// lookup returns an index; the one called "" is the order of ids, whose keys are those of rows.
func (r *Reader[T]) lookup(name string) (*index, error) {
	p := r.c.plan
	if name == "" {
		x := p.alone(p.id.name)
		x.prefix = rowPrefix
		return x, nil
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
	x := &index{headerIndex: headerIndex{Name: "of the field " + field, Fields: []string{field}}, slots: []slot{*s},
		orders: []*shape{s.shape}, multi: -1}
	if s.kind == kindList {
		x.orders[0], x.multi = s.shape.elem, 0
	}
	return x
}

// matcher is conditions.
type matcher []fieldCondition

// fieldCondition is that one of the ordered bytes of a field is in one of the ranges, or is in
// none.
type fieldCondition struct {
	x   *index
	in  []kv.Range
	not bool
}

func (p *plan) matcher(list []Condition) (m matcher, err error) {
	for _, c := range list {
		x := p.alone(c.Field)
		if x == nil || !x.orders[0].ordered() {
			return nil, invalid("query", fmt.Errorf("no field %q that has an order", c.Field),
				"use one of "+p.fieldNames())
		}
		one := fieldCondition{x: x, not: c.Not}
		queries := []Query{{From: c.From, To: c.To}}
		if c.Equal != nil {
			queries[0].Equal = []any{c.Equal}
		}
		if c.In != nil {
			if c.Equal != nil || c.From != nil || c.To != nil {
				return nil, invalid("query", fmt.Errorf("a condition of %s has In and another one", c.Field),
					"use two conditions")
			}
			queries = nil
		}
		for _, v := range c.In {
			queries = append(queries, Query{Equal: []any{v}})
		}
		for _, q := range queries {
			keys, err := x.rangeOf(q)
			if err != nil {
				return nil, err
			}
			one.in = append(one.in, keys)
		}
		m = append(m, one)
	}
	return m, nil
}

// match reports whether all conditions hold for a record.
func (m matcher) match(rec unsafe.Pointer) bool {
	for i := range m {
		if m[i].holds(rec) == m[i].not {
			return false
		}
	}
	return true
}

func (c *fieldCondition) holds(rec unsafe.Pointer) bool {
	for _, key := range c.x.keys(nil, rec, nil) {
		if slices.ContainsFunc(c.in, func(r kv.Range) bool { return within(key, r) }) {
			return true
		}
	}
	return false
}

// current returns the Conflict of an index that was dropped or replaced in the meantime.
func (r *Reader[T]) current(x *index) error {
	if r.c.changed(r.s) == nil {
		return nil
	}
	text, err := r.s.Get(headerKey)
	if err != nil || bytes.Equal(text, r.c.header) {
		return err
	}
	h, err := parseHeader(text)
	if err != nil {
		return err
	}
	if now := h.index(x.Name); now == nil || !reflect.DeepEqual(*now, x.headerIndex) {
		err := fmt.Errorf("index %s was dropped or replaced through another Collection, or by another process", x.Name)
		return conflict("query", err, "open the collection again")
	}
	return nil
}

// rangeOf returns the range of the keys of entries.
func (x *index) rangeOf(q Query) (kv.Range, error) {
	if len(q.Equal) > len(x.slots) || len(q.Equal) == len(x.slots) && (q.From != nil || q.To != nil) {
		return kv.Range{}, invalid("query", fmt.Errorf("more values than index %s has fields", x.Name),
			fmt.Sprintf("it has %v", x.Fields))
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
	key, err := x.orders[i].keyOf(key, v)
	if err != nil {
		return nil, invalid("query", fmt.Errorf("index %s, field %s: %w", x.Name, x.slots[i].name, err),
			"give a value of the field's type")
	}
	return key, nil
}
