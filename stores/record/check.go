package record

import (
	"bytes"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// check implements Collection.Check: as many entries as records, and each record with its own.
func (r *Reader[T]) check() error {
	counts := make([]int, len(r.c.plan.indexes))
	for i := range r.c.plan.indexes {
		err := r.b.Pairs(kv.Prefix(r.c.plan.indexes[i].prefix), func(_, _ []byte) bool {
			counts[i]++
			return true
		})
		if err != nil {
			return err
		}
	}
	records := 0
	var ids [][]byte
	scan := r.b.Rows(kv.Range{}, r.row, func(id []byte) bool {
		ids = append(ids, bytes.Clone(id))
		return true
	})
	if scan != nil {
		return scan
	}
	var v T
	for _, id := range ids {
		if err := r.read(id, &v, nil); err != nil {
			return err
		}
		if err := r.checkOne(id, unsafe.Pointer(&v)); err != nil {
			return err
		}
		records++
	}
	for i, n := range counts {
		if n != records {
			return corrupt("index %s has %d entries, the collection %d records", r.c.plan.indexes[i].Name, n, records)
		}
	}
	return nil
}

// checkOne compares a record with its key and its entries.
func (r *Reader[T]) checkOne(id []byte, rec unsafe.Pointer) error {
	if own := r.c.plan.appendID(nil, memory{rec: rec}); !bytes.Equal(own, id) {
		return corrupt("key %q holds the record %v", id, r.c.plan.idOf(memory{rec: rec}))
	}
	for i := range r.c.plan.indexes {
		x := &r.c.plan.indexes[i]
		value, err := r.b.Pair(nil, x.appendKey(nil, rec, id))
		if isNotFound(err) || err == nil && !bytes.Equal(value, x.value(id)) {
			return corrupt("index %s lacks the entry of record %v", x.Name, r.c.plan.idOf(memory{rec: rec}))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
