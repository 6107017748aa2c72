package etcdkv

import (
	"bytes"

	"github.com/tidwall/btree"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/assaydb/assay/kv/driver"
)

// writes are the last write of each key, in order.
type writes struct{ btree.BTreeG[driver.Op] }

func newWrites() *writes {
	less := func(a, b driver.Op) bool { return bytes.Compare(a.Key, b.Key) < 0 }
	return &writes{*btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})}
}

// steps returns the writes as operations on the keys behind prefix.
func (w *writes) steps(prefix string) []clientv3.Op {
	steps := make([]clientv3.Op, 0, w.Len()+1)
	w.Scan(func(op driver.Op) bool {
		if op.Delete {
			steps = append(steps, clientv3.OpDelete(prefix+string(op.Key)))
		} else {
			steps = append(steps, clientv3.OpPut(prefix+string(op.Key), string(op.Value)))
		}
		return true
	})
	return steps
}

// merged walks over the pairs of below with writes laid over them.
type merged struct {
	below      driver.Cursor
	key, value []byte // the next pair of below, nil at its end
	taken      bool   // it was given out
	above      btree.IterG[driver.Op]
	more       bool // above stands on a write
	r          driver.Range
}

func newMerged(below driver.Cursor, w *writes, r driver.Range) *merged {
	c := &merged{below: below, taken: true, r: r}
	c.above.Init(&w.BTreeG, false)
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

// write returns the write that comes next, if it is in the range.
func (c *merged) write() (op driver.Op, ok bool) {
	if !c.more {
		return op, false
	}
	op = c.above.Item()
	if c.r.Reverse {
		return op, bytes.Compare(op.Key, c.r.Start) >= 0
	}
	return op, c.r.End == nil || bytes.Compare(op.Key, c.r.End) < 0
}

func (c *merged) Next() (key, value []byte, err error) {
	for {
		if c.taken {
			if c.key, c.value, err = c.below.Next(); err != nil {
				return nil, nil, err
			}
			c.taken = false
		}
		op, more := c.write()
		order := -1 // below comes first
		if more {
			order = 1
			if c.key != nil {
				if order = bytes.Compare(c.key, op.Key); c.r.Reverse {
					order = -order
				}
			}
		}
		if order < 0 {
			c.taken = c.key != nil
			return c.key, c.value, nil
		}
		if c.r.Reverse {
			c.more = c.above.Prev()
		} else {
			c.more = c.above.Next()
		}
		c.taken = order == 0
		if !op.Delete {
			return op.Key, op.Value, nil
		}
	}
}

func (c *merged) Close() error { return c.below.Close() }
