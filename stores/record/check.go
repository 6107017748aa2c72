package record

import (
	"bytes"
	"errors"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// check implements Collection.Check: each record with its own entries and hot fields, and no more
// of them than records have.
func (r *Reader[T]) check() error {
	if err := r.c.changed(r.s); err != nil {
		return err
	}
	p := r.c.plan
	indexed, hot := make([]int, len(p.indexes)), make([]int, len(p.hot))
	var v T
	var err error
	scan := r.scan(kv.Range{}, func(id []byte) bool {
		if err = r.decode(&v, nil); err != nil {
			return false
		}
		for i := range p.hot {
			switch {
			case r.parts[i+1] != nil:
				hot[i]++
			case p.header.onlyHot(p.hot[i].number):
				err = corrupt("record %q lacks its hot field %s", id, p.hot[i].name)
				return false
			}
		}
		err = r.checkOne(id, unsafe.Pointer(&v), indexed)
		return err == nil
	})
	if err := errors.Join(err, scan); err != nil {
		return err
	}
	for i := range p.indexes {
		if n := r.count(p.indexes[i].prefix); n != indexed[i] {
			return corrupt("index %s has %d entries, the records make %d", p.indexes[i].Name, n, indexed[i])
		}
	}
	for i := range p.hot {
		if n := r.count(p.hot[i].prefix); n != hot[i] {
			return corrupt("the hot field %s has %d pairs, of which %d belong to a record", p.hot[i].name, n, hot[i])
		}
	}
	return r.s.Err()
}

// count returns how many keys begin with prefix.
func (r *Reader[T]) count(prefix []byte) (n int) {
	for range r.s.Keys(kv.Prefix(prefix)) {
		n++
	}
	return n
}

// checkOne compares a record with its key and its entries, which it counts.
func (r *Reader[T]) checkOne(id []byte, rec unsafe.Pointer, entries []int) error {
	if own := r.c.plan.appendID(nil, memory{rec: rec}); !bytes.Equal(own, id) {
		return corrupt("key %q holds the record %v", id, r.c.plan.idOf(memory{rec: rec}))
	}
	for i := range r.c.plan.indexes {
		x := &r.c.plan.indexes[i]
		for _, key := range x.keys(nil, rec, id) {
			entries[i]++
			value, err := r.s.Get(key)
			if isNotFound(err) || err == nil && !bytes.Equal(value, x.value(id)) {
				return corrupt("index %s lacks the entry of record %v", x.Name, r.c.plan.idOf(memory{rec: rec}))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
