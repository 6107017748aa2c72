package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/assaydb/assay/kv"
)

// The keys of a collection, which is a namespace of the store: none, or 'c' and the collection's
// name.
//
//	'h'                -> header
//	's'                -> the largest number that Insert chose, 8 bytes
//	'i' ...            -> entries of indexes
//	'r' id             -> a record, without its hot fields
//	'f' number(2) id   -> a hot field of it
//
// Hot fields lie apart from the records, those of one field together: to change one touches a page
// of small pairs, and to add one up reads nothing else.
const (
	recordPrefix = 'r'
	hotPrefix    = 'f'
)

var (
	headerKey   = []byte{'h'}
	sequenceKey = []byte{'s'}
)

// namespace returns where the collection called name lies.
func namespace(db *kv.DB, name string) *kv.DB {
	if name == "" {
		return db
	}
	return db.Namespace(kv.AppendString([]byte{'c'}, name))
}

// hotField is a field that has a pair of its own, or had one.
type hotField struct {
	slot
	prefix  []byte
	written bool // records are written with the pair; without, it is removed
}

func newHotField(s slot, written bool) hotField {
	return hotField{slot: s, prefix: binary.BigEndian.AppendUint16([]byte{hotPrefix}, uint16(s.number)),
		written: written}
}

// join makes the key of a prefix and an id, in memory that is used again.
func join(key, prefix, id []byte) []byte { return append(append(key[:0], prefix...), id...) }

// under returns the keys with a prefix and ids of a range.
func under(prefix []byte, ids kv.Range) kv.Range {
	r := kv.Prefix(prefix)
	r.Reverse, r.KeysOnly = ids.Reverse, ids.KeysOnly
	if ids.Start != nil {
		r.Start = join(nil, prefix, ids.Start)
	}
	if ids.End != nil {
		r.End = join(nil, prefix, ids.End)
	}
	return r
}

var rowPrefix = []byte{recordPrefix}

// putter is what writes: a transaction or a batch.
type putter interface {
	Put(key, value []byte) error
	Delete(key []byte) error
}

var _ putter = (*kv.Tx)(nil)

// batch is a kv.Batch as a putter.
type batch struct{ kv.Batch }

// Put never fails.
func (b *batch) Put(key, value []byte) error { b.Batch.Put(key, value); return nil }

// Delete never fails.
func (b *batch) Delete(key []byte) error { b.Batch.Delete(key); return nil }

// merge walks over the pairs of one hot field beside the records.
type merge struct {
	*kv.Iterator
	skip    int // bytes before the id
	reverse bool
	some    bool
}

func newMerge(s *kv.Snapshot, h *hotField, ids kv.Range) merge {
	m := merge{Iterator: s.Iter(under(h.prefix, ids)), skip: len(h.prefix), reverse: ids.Reverse}
	m.some = m.Next()
	return m
}

// at returns the value for an id, or nil. Ids are asked for in order.
func (m *merge) at(id []byte) []byte {
	for m.some {
		order := bytes.Compare(m.Key()[m.skip:], id)
		if m.reverse {
			order = -order
		}
		if order == 0 {
			return m.Value()
		}
		if order > 0 {
			return nil
		}
		m.some = m.Next()
	}
	return nil
}

// common is what the Collections of one opening of a store share that are over the same records.
type common struct {
	changing sync.RWMutex           // a header is written under it, so that no batch overtakes that
	header   atomic.Pointer[string] // as it is stored, unless other processes may write
}

// changed returns the Conflict of a collection whose type or indexes were changed by another
// Collection, or in another process, which r sees.
func (c *Collection[T]) changed(s *kv.Snapshot) error {
	if !c.shared {
		if c.common.header.Load() == c.known {
			return nil
		}
		return conflict("use collection", errChanged, "open it again")
	}
	text, err := s.Get(headerKey)
	if err != nil || bytes.Equal(text, c.header) {
		return err
	}
	return conflict("use collection", errChanged, "open it again")
}

var errChanged = errors.New("the collection's type or indexes were changed through another Collection, or by another process")

// know notes the header that was read, unless another Collection stored one in the meantime.
func (c *Collection[T]) know(text []byte) bool {
	fresh := string(text)
	c.common.header.CompareAndSwap(nil, &fresh)
	c.header, c.known = text, c.common.header.Load()
	return c.shared || c.readOnly || *c.known == fresh
}

// store has tx write the header, and c and its like know it once that is committed.
func (c *Collection[T]) store(tx *kv.Tx, text []byte) error {
	tx.OnCommit(func() {
		fresh := string(text)
		c.common.header.Store(&fresh)
		c.header, c.known = text, &fresh
	})
	return tx.Put(headerKey, text)
}
