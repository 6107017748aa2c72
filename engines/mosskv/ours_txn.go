package mosskv

import (
	"bytes"

	"github.com/tidwall/btree"

	"github.com/assaydb/assay/kv/driver"
)

// writes are the last write of each key, in order.
type writes struct {
	btree.BTreeG[driver.Op]
	size int // bytes, of overwritten ones too
}

func newWrites() *writes {
	less := func(a, b driver.Op) bool { return bytes.Compare(a.Key, b.Key) < 0 }
	return &writes{BTreeG: *btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})}
}

// newOp copies the bytes of op.
func newOp(op driver.Op) driver.Op {
	b := append(append(make([]byte, 0, len(op.Key)+len(op.Value)), op.Key...), op.Value...)
	return driver.Op{Key: b[:len(op.Key):len(op.Key)], Value: b[len(op.Key):], Delete: op.Delete}
}

// set keeps op, not a copy.
func (w *writes) set(op driver.Op) {
	w.Set(op)
	w.size += len(op.Key) + len(op.Value)
}

// writesIter stands on a write, if there is one left.
type writesIter struct {
	btree.IterG[driver.Op]
	more bool
}

func (w *writes) from(start []byte) (i writesIter) {
	i.Init(&w.BTreeG, false)
	i.more = i.Seek(driver.Op{Key: start})
	return i
}

func (i *writesIter) next() { i.more = i.Next() }

// op returns the write that i stands on, if its key is below end.
func (i *writesIter) op(end []byte) (driver.Op, bool) {
	if !i.more || end != nil && bytes.Compare(i.Item().Key, end) >= 0 {
		return driver.Op{}, false
	}
	return i.Item(), true
}

// txn is a snapshot and what is to be written.
type txn struct {
	reader
	store  *store
	d      driver.Durability
	writes *writes
}

var _ driver.Txn = (*txn)(nil)

func (t *txn) Get(dst, key []byte) ([]byte, error) {
	op, ok := t.writes.Get(driver.Op{Key: key})
	switch {
	case !ok:
		return t.reader.Get(dst, key)
	case op.Delete:
		return dst, driver.NotFound
	}
	return append(dst, op.Value...), nil
}

func (t *txn) Cursor(r driver.Range) (driver.Cursor, error) {
	below, err := t.reader.Cursor(driver.Range{Start: r.Start, End: r.End})
	if err != nil {
		return nil, err
	}
	c := &merged{below: below, taken: true, above: t.writes.from(r.Start), end: r.End}
	if r.Reverse {
		return reverse(c)
	}
	return c, nil
}

func (t *txn) Put(key, value []byte) error {
	t.writes.set(newOp(driver.Op{Key: key, Value: value}))
	return nil
}

func (t *txn) Delete(key []byte) error {
	t.writes.set(newOp(driver.Op{Key: key, Delete: true}))
	return nil
}

func (t *txn) Commit() error { return t.store.commit(t.writes, t.d) }

// merged walks over a snapshot with the writes of a transaction laid over it.
type merged struct {
	below      driver.Cursor
	key, value []byte // the next pair of below, nil at its end
	taken      bool   // it was given out
	above      writesIter
	end        []byte
}

func (c *merged) Next() (key, value []byte, err error) {
	for {
		if c.taken {
			if c.key, c.value, err = c.below.Next(); err != nil {
				return nil, nil, err
			}
			c.taken = false
		}
		op, more := c.above.op(c.end)
		order := -1 // below comes first
		if more {
			order = 1
			if c.key != nil {
				order = bytes.Compare(c.key, op.Key)
			}
		}
		if order < 0 {
			c.taken = c.key != nil
			return c.key, c.value, nil
		}
		c.above.next()
		c.taken = order == 0
		if !op.Delete {
			return op.Key, op.Value, nil
		}
	}
}

func (c *merged) Close() error { return c.below.Close() }
