package levelkv

import (
	"sync"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/comparer"
	"github.com/syndtr/goleveldb/leveldb/iterator"
	"github.com/syndtr/goleveldb/leveldb/memdb"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"

	"github.com/assaydb/assay/kv/driver"
)

// txn is a transaction: a batch that is written as a whole by Commit. Nobody else writes while it
// is open, so that it reads the store itself. A transaction that reads after it has written keeps
// an index of its writes, too.
//
// goleveldb has transactions of its own; they write tables instead of the journal and sync them,
// whatever is asked.
type txn struct {
	reader
	db    *leveldb.DB
	how   *opt.WriteOptions
	batch leveldb.Batch
	own   *index // of all that is in batch; nil until something is read
}

var txns = sync.Pool{New: func() any { return new(txn) }}

var _ driver.Txn = (*txn)(nil)

// Put sets key to value.
func (t *txn) Put(key, value []byte) error {
	t.batch.Put(key, value)
	if t.own != nil {
		t.own.Put(key, value)
	}
	return nil
}

// Delete removes key.
func (t *txn) Delete(key []byte) error {
	t.batch.Delete(key)
	if t.own != nil {
		t.own.Delete(key)
	}
	return nil
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
	within := &util.Range{Start: rg.Start, Limit: rg.End}
	both := []iterator.Iterator{t.own.table.NewIterator(within), t.from.NewIterator(within, nil)}
	it := iterator.NewMergedIterator(both, comparer.DefaultComparer, true)
	return &merged{cursor: cursor{it: it, reverse: rg.Reverse}, own: t.own}, nil
}

// index makes the writes so far readable.
func (t *txn) index() error {
	if t.own != nil || t.batch.Len() == 0 {
		return nil
	}
	t.own = &index{table: memdb.New(comparer.DefaultComparer, 4<<10)}
	return classify(t.batch.Replay(t.own))
}

// Commit writes the batch to the journal.
func (t *txn) Commit() error { return classify(t.db.Write(&t.batch, t.how)) }

// keptBatch is how large a batch is kept for the next transaction.
const keptBatch = 1 << 20

// Close drops the batch.
func (t *txn) Close() error {
	t.own = nil
	if t.batch.Reset(); cap(t.batch.Dump()) <= keptBatch {
		txns.Put(t)
	}
	return nil
}

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
	again := m.state == within // whether last is behind
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
