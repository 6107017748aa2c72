package levelkv

import (
	"bytes"
	"errors"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/comparer"
	"github.com/syndtr/goleveldb/leveldb/iterator"
	"github.com/syndtr/goleveldb/leveldb/memdb"
	"github.com/syndtr/goleveldb/leveldb/util"

	"github.com/assaydb/assay/kv/driver"
)

// index holds a transaction's own writes in order, in goleveldb's table in memory. A deleted key stays in it, as a value
// of the mark alone.
type index struct {
	table *memdb.DB
	buf   []byte
}

var _ leveldb.BatchReplay = (*index)(nil)

const (
	markPut    = 1
	markDelete = 0
)

// firstRoom is the size of an index before it grows.
const firstRoom = 4 << 10

func newIndex() *index { return &index{table: memdb.New(comparer.DefaultComparer, firstRoom)} }

// Put sets key to value.
func (x *index) Put(key, value []byte) {
	x.buf = append(append(x.buf[:0], markPut), value...)
	_ = x.table.Put(key, x.buf) // a table in memory has no errors
}

// Delete marks key as deleted.
func (x *index) Delete(key []byte) { _ = x.table.Put(key, []byte{markDelete}) }

// get returns the value of key and whether the transaction has written it at all.
func (x *index) get(key []byte) (value []byte, written bool, err error) {
	marked, err := x.table.Get(key)
	switch {
	case err != nil:
		return nil, false, nil
	case marked[0] == markDelete:
		return nil, true, driver.NotFound
	}
	return marked[1:], true, nil
}

// over returns a cursor over the pairs of base as the transaction's writes have changed them.
func (x *index) over(base iterator.Iterator, rg driver.Range) driver.Cursor {
	own := x.table.NewIterator(&util.Range{Start: rg.Start, Limit: rg.End})
	return &merged{base: walk{it: base, reverse: rg.Reverse}, own: walk{it: own, reverse: rg.Reverse}, moveBase: true, moveOwn: true}
}

// merged walks over two iterators at once; where both have a key the transaction's own pair counts.
type merged struct {
	base, own         walk
	moveBase, moveOwn bool // the pair was passed: move on before the next
}

var _ driver.Cursor = (*merged)(nil)

// Next moves to the next pair.
func (m *merged) Next() (key, value []byte, err error) {
	for {
		if m.moveBase {
			m.base.next()
		}
		if m.moveOwn {
			m.own.next()
		}
		m.moveBase, m.moveOwn = m.choose()
		switch {
		case m.moveOwn:
			if value := m.own.it.Value(); value[0] != markDelete {
				return m.own.it.Key(), value[1:], nil
			}
		case m.moveBase:
			return m.base.it.Key(), m.base.it.Value(), nil
		default:
			return nil, nil, m.err()
		}
	}
}

// choose tells which of the two stand on the next key; neither does at the end. A base that failed is the end, too: what
// it would have held is not known.
func (m *merged) choose() (base, own bool) {
	switch {
	case m.base.ended && (m.own.ended || m.base.it.Error() != nil):
		return false, false
	case m.base.ended:
		return false, true
	case m.own.ended:
		return true, false
	}
	order := bytes.Compare(m.base.it.Key(), m.own.it.Key())
	if m.base.reverse {
		order = -order
	}
	return order <= 0, order >= 0
}

func (m *merged) err() error { return classify(errors.Join(m.base.it.Error(), m.own.it.Error())) }

// Close releases both iterators.
func (m *merged) Close() error {
	err := m.err()
	m.base.it.Release()
	m.own.it.Release()
	return err
}
