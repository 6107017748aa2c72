// Package overlay is for drivers whose engine has no transactions, or none that read their own
// writes: it keeps the writes of a transaction and lays them over what it reads. Commit then gives
// the engine the last write of each key, as one batch.
package overlay

import (
	"bytes"
	"iter"

	"github.com/tidwall/btree"

	"github.com/assaydb/assay/kv/driver"
)

// Txn is a driver.Txn without a Commit, which a driver adds: it gives Writes to the engine. Reader
// is the state that the transaction began with; Close closes it.
type Txn struct {
	driver.Reader
	Writes *Writes
}

// Get appends the value of key to dst.
func (t *Txn) Get(dst, key []byte) ([]byte, error) {
	if value, written, err := t.Writes.Get(dst, key); written {
		return value, err
	}
	return t.Reader.Get(dst, key)
}

// Cursor returns a cursor before the first pair of r.
func (t *Txn) Cursor(r driver.Range) (driver.Cursor, error) {
	below, err := t.Reader.Cursor(r)
	if err != nil || t.Writes.Len() == 0 {
		return below, err
	}
	return t.Writes.Over(below, r), nil
}

// Put sets key to value.
func (t *Txn) Put(key, value []byte) error {
	t.Writes.Put(key, value)
	return nil
}

// Delete removes key.
func (t *Txn) Delete(key []byte) error {
	t.Writes.Delete(key)
	return nil
}

// Writes are the last write of each key, in order. They are used by one goroutine at a time.
type Writes struct {
	last *btree.BTreeG[driver.Op]
	size int
}

// New returns no writes.
func New() *Writes {
	less := func(a, b driver.Op) bool { return bytes.Compare(a.Key, b.Key) < 0 }
	return &Writes{last: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})}
}

// Of returns the writes of a batch. They refer to its bytes.
func Of(ops []driver.Op) *Writes {
	w := New()
	for _, op := range ops {
		w.set(op)
	}
	return w
}

// Put sets key to value, of which it keeps copies.
func (w *Writes) Put(key, value []byte) {
	b := append(append(make([]byte, 0, len(key)+len(value)), key...), value...)
	w.set(driver.Op{Key: b[:len(key):len(key)], Value: b[len(key):]})
}

// Delete removes key, of which it keeps a copy.
func (w *Writes) Delete(key []byte) { w.set(driver.Op{Key: bytes.Clone(key), Delete: true}) }

func (w *Writes) set(op driver.Op) {
	w.last.Set(op)
	w.size += len(op.Key) + len(op.Value)
}

// Len is how many keys were written.
func (w *Writes) Len() int { return w.last.Len() }

// Size is how many bytes were written, keys and values, those of overwritten ones too.
func (w *Writes) Size() int { return w.size }

// All yields the last write of each key, in the order of the keys. What it yields is not to be
// changed.
func (w *Writes) All() iter.Seq[driver.Op] { return w.last.Scan }

// Get appends what was written under key to dst, and reports whether anything was. A key that was
// deleted is the bare NotFound.
func (w *Writes) Get(dst, key []byte) (value []byte, written bool, err error) {
	op, written := w.last.Get(driver.Op{Key: key})
	if op.Delete {
		return dst, true, driver.NotFound
	}
	return append(dst, op.Value...), written, nil
}

// Over returns a cursor over what below, a cursor of r, walks over, with the writes laid over it.
// Nothing may be written until it is closed, which closes below.
func (w *Writes) Over(below driver.Cursor, r driver.Range) driver.Cursor {
	c := &cursor{below: below, taken: true, r: r}
	c.above.Init(w.last, false)
	switch {
	case !r.Reverse:
		c.more = c.above.Seek(driver.Op{Key: r.Start})
	case r.End != nil && c.above.Seek(driver.Op{Key: r.End}):
		c.more = c.above.Prev()
	default:
		c.more = c.above.Last()
	}
	return c
}

type cursor struct {
	r          driver.Range
	below      driver.Cursor
	key, value []byte // the next pair of below, nil at its end
	taken      bool   // it was given out, or a write took its place
	above      btree.IterG[driver.Op]
	more       bool // above stands on a write
}

// Next returns the next pair of below or of the writes, whose comes first. Of one key it is the
// write's.
func (c *cursor) Next() (key, value []byte, err error) {
	for {
		if c.taken {
			if c.key, c.value, err = c.below.Next(); err != nil {
				return nil, nil, err
			}
			c.taken = false
		}
		op, more := c.write()
		order := bytes.Compare(c.key, op.Key)
		if c.r.Reverse {
			order = -order
		}
		if !more || c.key != nil && order < 0 {
			c.taken = c.key != nil
			return c.key, c.value, nil
		}
		c.taken = order == 0
		if c.r.Reverse {
			c.more = c.above.Prev()
		} else {
			c.more = c.above.Next()
		}
		if !op.Delete {
			return op.Key, op.Value, nil
		}
	}
}

// write returns the write that comes next, if it is in the range.
func (c *cursor) write() (op driver.Op, ok bool) {
	if !c.more {
		return op, false
	}
	op = c.above.Item()
	return op, !c.r.Beyond(op.Key)
}

func (c *cursor) Close() error { return c.below.Close() }
