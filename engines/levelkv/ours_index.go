package levelkv

import (
	"github.com/syndtr/goleveldb/leveldb/comparer"
	"github.com/syndtr/goleveldb/leveldb/iterator"
	"github.com/syndtr/goleveldb/leveldb/memdb"

	"github.com/assaydb/assay/kv/driver"
)

// index holds a transaction's own writes in order, in goleveldb's table in memory. A deleted key
// stays in it, as an empty value; before that of a key that is there stands a byte.
type index struct {
	table *memdb.DB
	buf   []byte
}

// Put sets key to value.
func (x *index) Put(key, value []byte) {
	x.buf = append(append(x.buf[:0], 0), value...)
	_ = x.table.Put(key, x.buf) // a table in memory has no errors
}

// Delete marks key as deleted.
func (x *index) Delete(key []byte) { _ = x.table.Put(key, nil) }

// get returns the value of key and whether the transaction has written it at all.
func (x *index) get(key []byte) (value []byte, written bool, err error) {
	marked, err := x.table.Get(key)
	switch {
	case err != nil:
		return nil, false, nil
	case len(marked) == 0:
		return nil, true, driver.NotFound
	}
	return marked[1:], true, nil
}

// merged walks over the store and the transaction's own writes at once. A key of both comes twice
// in succession, and the own write counts.
type merged struct {
	cursor
	own  *index
	last []byte
}

// Next moves to the next pair.
func (m *merged) Next() (key, value []byte, err error) {
	again := !m.there // whether last is behind
	for m.move() {
		key, value = m.it.Key(), m.it.Value()
		if again && string(key) == string(m.last) {
			continue
		}
		own, written, err := m.own.get(key)
		m.last, again = append(m.last[:0], key...), true
		if !written {
			return key, value, nil
		}
		if err == nil {
			return key, own, nil
		}
	}
	return nil, nil, classify(m.it.Error())
}

// Get appends the value of key to dst.
func (t *txn) Get(dst, key []byte) ([]byte, error) {
	if err := t.index(); err != nil {
		return dst, err
	}
	if t.own != nil {
		if value, written, err := t.own.get(key); written {
			return append(dst, value...), err
		}
	}
	return t.reader.Get(dst, key)
}

// Cursor returns a cursor before the first pair of rg.
func (t *txn) Cursor(rg driver.Range) (driver.Cursor, error) {
	if err := t.index(); err != nil {
		return nil, err
	}
	if t.own == nil {
		return t.reader.Cursor(rg)
	}
	both := []iterator.Iterator{t.own.table.NewIterator(nil), t.from.NewIterator(nil, nil)}
	m := &merged{cursor: cursor{it: iterator.NewMergedIterator(both, comparer.DefaultComparer, true)}, own: t.own}
	m.start(rg)
	return m, nil
}

// index makes the writes so far readable.
func (t *txn) index() error {
	if t.own != nil || t.batch.Len() == 0 {
		return nil
	}
	t.own = &index{table: memdb.New(comparer.DefaultComparer, 4<<10)}
	return classify(t.batch.Replay(t.own))
}
