package record

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// Field is one field of the records of a collection, to be read and written alone.
//
// Reading decodes nothing else where it can: a hot field is a pair of its own; in the others Binary
// goes to the place of a number and steps over texts; JSON scans the record and builds one value.
type Field[T, V any] struct {
	c    *Collection[T]
	slot slot
	hot  int // which of the hot fields, or -1

	defaulted bool // some record may lack it
}

// FieldOf returns the field with a stored name, of a type V: that of the field, or the one that it
// is made of, as string. Of a struct within the record, the fields have names like address.city. A
// field that there is not, or is of another type, is Invalid.
func FieldOf[V, T any](c *Collection[T], name string) (Field[T, V], error) {
	s := c.plan.named(name)
	if s == nil {
		return Field[T, V]{}, invalid("field", fmt.Errorf("no field %q", name), "use one of "+c.plan.fieldNames())
	}
	if t := reflect.TypeFor[V](); t != s.shape.typ && (!s.kind.scalar() || kindOf(t) != s.kind) {
		return Field[T, V]{}, invalid("field", fmt.Errorf("field %s is a %v, not a %v", name, s.shape.typ, t), "")
	}
	return Field[T, V]{c: c, slot: *s, hot: c.plan.hotIndex(s),
		defaulted: c.plan.header.field(s.number).Default != nil}, nil
}

// Get returns the field of the record with an id. An absent record is NotFound.
func (f Field[T, V]) Get(ctx context.Context, id ID) (v V, err error) {
	err = f.c.View(ctx, func(r *Reader[T]) error {
		v, err = f.Read(r, id)
		return err
	})
	return v, err
}

// Read is Get within a View or an Update.
func (f Field[T, V]) Read(r *Reader[T], id ID) (V, error) {
	v := f.fallback()
	if err := f.c.plan.idKind().check("get field", id); err != nil {
		return v, err
	}
	r.key = id.AppendKey(r.key[:0])
	if f.hot >= 0 {
		value, err := r.hot(f.hot, r.key)
		if err == nil {
			err = f.readHot(value, &v)
		}
		if !isNotFound(err) {
			return v, err
		}
	}
	r.full = join(r.full, rowPrefix, r.key)
	value, err := r.s.Append(r.bufs[0][:0], r.full)
	if err != nil {
		return v, err
	}
	r.bufs[0] = value
	return v, f.c.plan.codec.field(value, &f.slot, unsafe.Pointer(&v))
}

// readHot sets v to the pair of a hot field.
func (f Field[T, V]) readHot(value []byte, v *V) error {
	alone := f.slot
	alone.offset = 0
	return f.c.plan.codec.readPart(value, &alone, memory{rec: unsafe.Pointer(v)})
}

// fallback returns the value of a record that does not have the field.
func (f Field[T, V]) fallback() (v V) {
	if !f.defaulted {
		return v
	}
	for i := range f.c.plan.lent {
		if d := &f.c.plan.lent[i]; d.slot.number == f.slot.number {
			_ = d.slot.shape.read(d.value, unsafe.Pointer(&v)) // no two records share memory
			return v
		}
	}
	f.slot.shape.copyTo(unsafe.Pointer(&v), unsafe.Add(unsafe.Pointer(&f.c.defaults), f.slot.offset))
	return v
}

// Set changes the field of the record with an id, and the indexes that have it. An absent record is
// NotFound.
func (f Field[T, V]) Set(ctx context.Context, d kv.Durability, id ID, v V) error {
	return f.c.Update(ctx, d, func(w *Writer[T]) error { return f.Write(w, id, v) })
}

// Write is Set within an Update.
func (f Field[T, V]) Write(w *Writer[T], id ID, v V) error { return w.ended(f.write(w, id, v)) }

func (f Field[T, V]) write(w *Writer[T], id ID, v V) error {
	p := f.c.plan
	if err := p.idKind().check("set field", id); err != nil {
		return err
	}
	if f.slot.name == p.id.name {
		return invalid("set field", errors.New("an id does not change"),
			"put the record under the new id and delete the old one")
	}
	w.key = id.AppendKey(w.key[:0])
	indexed := p.indexed(f.slot.number)
	if f.hot >= 0 && !indexed && p.hot[f.hot].written {
		if err := w.exists(f.hot); err != nil {
			return err
		}
		return w.encoder.writeHot(w.tx, &p.hot[f.hot], w.key, unsafe.Pointer(&v))
	}
	if err := w.load(w.key); err != nil {
		return err
	}
	if f.hot < 0 && !indexed && p.codec.patch(w.parts[0], &f.slot, unsafe.Pointer(&v)) {
		w.full = join(w.full, rowPrefix, w.key)
		return w.tx.Put(w.full, w.parts[0])
	}
	extra := p.newExtra()
	if err := w.decode(&w.old, extra); err != nil {
		return err
	}
	w.damaged = false
	changed := w.old
	m := memory{rec: unsafe.Pointer(&changed), extra: extra}
	f.slot.shape.copyTo(f.slot.at(m), unsafe.Pointer(&v))
	return w.replace(w.key, true, m)
}

// exists returns NotFound unless there is a record with the id in w.key, which its pair of a hot
// field shows.
func (w *Writer[T]) exists(hot int) error {
	_, err := w.hot(hot, w.key)
	if !isNotFound(err) {
		return err
	}
	w.full = join(w.full, rowPrefix, w.key)
	has, err := w.s.Has(w.full)
	if err == nil && !has {
		err = kv.NotFound
	}
	return err
}

// Each calls fn with the field of every record of a span in the order of their ids, as of one
// moment, until fn returns an error, which Each returns. fn must not write to the store.
func (f Field[T, V]) Each(ctx context.Context, s Span, fn func(ID, V) error) error {
	kind := f.c.plan.idKind()
	return f.scan(ctx, s, func(key []byte, v V) (bool, error) {
		id, _, ok := kind.cutID(key)
		if !ok {
			return false, corrupt("key %q is not that of a record", key)
		}
		return true, fn(id, v)
	})
}

// scan reads the field of the records of a span.
func (f Field[T, V]) scan(ctx context.Context, s Span, fn func(key []byte, v V) (bool, error)) error {
	keys, err := f.c.plan.idKind().keys("scan field", s)
	if err != nil {
		return err
	}
	return f.c.View(ctx, func(r *Reader[T]) (failed error) {
		n, fallback := 0, f.fallback()
		v := fallback
		err := r.column(&f.slot, f.hot, keys, func(key, value []byte, hot bool) (more bool) {
			if v = fallback; f.slot.kind >= kindBytes {
				v = f.fallback()
			}
			if hot {
				failed = f.readHot(value, &v)
			} else {
				failed = f.c.plan.codec.field(value, &f.slot, unsafe.Pointer(&v))
			}
			if failed != nil {
				return false
			}
			n++
			more, failed = fn(key, v)
			return more && failed == nil && n != s.Limit
		})
		return errors.Join(failed, err)
	})
}

// column calls fn with the key of each id of a range and what holds a field: its pair if it is hot,
// or the record's, until it returns false. If every record has the pair, nothing else is read.
func (r *Reader[T]) column(s *slot, hot int, ids kv.Range, fn func(id, value []byte, hot bool) bool) (err error) {
	prefix := rowPrefix
	alone := hot >= 0 && r.c.plan.header.onlyHot(s.number)
	if alone {
		prefix = r.c.plan.hot[hot].prefix
	}
	var beside merge
	if hot >= 0 && !alone {
		beside = newMerge(r.s, &r.c.plan.hot[hot], ids)
		defer func() { err = errors.Join(err, beside.Err(), beside.Close()) }()
	}
	for k, v := range r.s.Scan(under(prefix, ids)) {
		id := k[len(prefix):]
		apart := alone
		if beside.Iterator != nil {
			if own := beside.at(id); own != nil {
				v, apart = own, true
			}
		}
		if !fn(id, v, apart) {
			break
		}
	}
	return r.s.Err()
}

// Number is a type that can be added up.
type Number interface {
	int | int8 | int16 | int32 | int64 | uint | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// Sum returns the sum of a field over the records of a span, added up in the order of their ids, as
// float64 where the field is a float, and as an integer otherwise. Where that is over the largest
// int64 the error is TooLarge.
func Sum[T any, V Number](ctx context.Context, f Field[T, V], s Span) (Total, error) {
	var t Total
	err := f.scan(ctx, s, func(_ []byte, v V) (bool, error) {
		t.Count++
		t.Float += float64(v)
		if V(1)/2 != 0 { // a float
			return true, nil
		}
		n := int64(v)
		if n < 0 != (v < 0) || n > 0 && t.Int > math.MaxInt64-n || n < 0 && t.Int < math.MinInt64-n {
			return false, &kv.Error{Op: "sum", Kind: kv.TooLarge, Err: fmt.Errorf("field %s", f.slot.name),
				Hint: "add it up with Each"}
		}
		t.Int += n
		return true, nil
	})
	return t, err
}

// Total is a sum.
type Total struct {
	Count int     // of records
	Int   int64   // exact; of a field that is an integer
	Float float64 // rounded at each step, as adding float64 does
}
