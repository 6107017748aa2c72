package record

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// Value is a type that a field may have; of a field whose type is made of one of these it is that one.
type Value interface {
	bool | int | int8 | int16 | int32 | int64 | uint | uint8 | uint16 | uint32 | uint64 |
		float32 | float64 | string | []byte | time.Time
}

// Field is one field of the records of a collection, to be read and written alone.
//
// Reading decodes nothing else where the codec allows it: Binary goes to the place of a number; BinaryNames,
// MessagePack and Protobuf step over the fields before it; JSON, CBOR and Gob scan the record and build one value; the
// layouts with a pair for each field read that pair.
type Field[T any, V Value] struct {
	c      *Collection[T]
	slot   slot
	column int
}

// FieldOf returns the field with a stored name, whose type is V. A field that there is not, or is of another type, is Invalid.
func FieldOf[V Value, T any](c *Collection[T], name string) (Field[T, V], error) {
	s := c.plan.named(name)
	if s == nil {
		return Field[T, V]{}, invalid("field", fmt.Errorf("no field %q", name), "use one of "+c.plan.fieldNames())
	}
	if k := kindOf(reflect.TypeFor[V]()); k != s.kind {
		return Field[T, V]{}, invalid("field", fmt.Errorf("field %s is a %v, not a %v", name, kinds[s.kind].typ, reflect.TypeFor[V]()), "")
	}
	return Field[T, V]{c: c, slot: *s, column: c.plan.column(s)}, nil
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
	value, err := r.b.Column(r.buf[:0], r.key, f.column)
	if isNotFound(err) && f.c.traits.ByField { // the record may have been written without the field
		has, hasErr := r.Has(id)
		if has || hasErr != nil {
			return v, hasErr
		}
	}
	if err != nil {
		return v, err
	}
	r.buf = value[:0]
	if value == nil {
		value = []byte{}
	}
	return v, f.c.plan.field(value, &f.slot, unsafe.Pointer(&v))
}

// fallback returns the value of a record that does not have the field.
func (f Field[T, V]) fallback() (v V) {
	copyValue(f.slot.kind, unsafe.Pointer(&v), unsafe.Add(unsafe.Pointer(&f.c.defaults), f.slot.offset))
	if f.slot.kind == kindBytes {
		storeBytes(unsafe.Pointer(&v), *(*[]byte)(unsafe.Pointer(&v)))
	}
	return v
}

// Set changes the field of the record with an id, and the indexes that have it. An absent record is NotFound.
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
		return invalid("set field", errors.New("an id does not change"), "put the record under the new id and delete the old one")
	}
	w.key = id.AppendKey(w.key[:0])
	var err error
	if w.buf, err = w.b.Row(w.buf, w.row, w.key); err != nil {
		return err
	}
	if !p.indexed(f.slot.number) {
		if done, err := f.patch(w, &v); done {
			return err
		}
	}
	extra := p.newExtra()
	if err := w.decode(&w.old, extra); err != nil {
		return err
	}
	w.damaged = false
	changed := w.old
	m := memory{rec: unsafe.Pointer(&changed), extra: extra}
	copyValue(f.slot.kind, f.slot.at(m), unsafe.Pointer(&v))
	return w.replace(w.key, true, m)
}

// patch changes the row that was read in place, if the codec can.
func (f Field[T, V]) patch(w *Writer[T], v *V) (done bool, err error) {
	if codec := f.c.plan.codec; codec != nil {
		if !codec.patch(w.row[0], &f.slot, unsafe.Pointer(v)) {
			return false, nil
		}
		return true, w.w.PutRow(w.key, w.row, nil)
	}
	clear(w.row)
	w.encoder.buf = appendValue(w.encoder.buf[:0], f.slot.kind, unsafe.Pointer(v))
	w.row[f.column] = present(w.encoder.buf, true)
	return true, w.w.PutRow(w.key, w.row, nil)
}

// Each calls fn with the field of every record of a span in the order of their ids, as of one moment, until fn returns
// an error, which Each returns. fn must not write to the store.
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
		err := r.b.ColumnOf(keys, f.column, func(key, value []byte) (more bool) {
			if v = fallback; f.slot.kind == kindBytes {
				v = f.fallback() // no two records share memory
			}
			if failed = f.c.plan.field(value, &f.slot, unsafe.Pointer(&v)); failed != nil {
				return false
			}
			n++
			more, failed = fn(key, v)
			return more && failed == nil && n != s.Limit
		})
		return errors.Join(failed, err)
	})
}

// Number is a type that can be added up.
type Number interface {
	int | int8 | int16 | int32 | int64 | uint | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// Sum returns the sum of a field over the records of a span, added up in the order of their ids, as float64 where the
// field is a float, and as an integer otherwise. Where that is over the largest int64 the error is TooLarge.
func Sum[T any, V interface {
	Value
	Number
}](ctx context.Context, f Field[T, V], s Span) (Total, error) {
	var t Total
	err := f.scan(ctx, s, func(_ []byte, v V) (bool, error) {
		t.Count++
		t.Float += float64(v)
		if V(1)/2 != 0 { // a float
			return true, nil
		}
		n := int64(v)
		if n < 0 != (v < 0) || n > 0 && t.Int > math.MaxInt64-n || n < 0 && t.Int < math.MinInt64-n {
			return false, &kv.Error{Op: "sum", Kind: kv.TooLarge, Err: fmt.Errorf("field %s", f.slot.name), Hint: "add it up with Each"}
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

func isNotFound(err error) bool { return err != nil && errors.Is(err, kv.NotFound) }
