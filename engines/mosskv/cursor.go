package mosskv

import (
	"bytes"
	"errors"

	"github.com/couchbase/moss"

	"github.com/assaydb/assay/kv/driver"
)

// cursor walks over a snapshot.
type cursor struct {
	it      moss.Iterator
	started bool
	done    bool
}

var _ driver.Cursor = (*cursor)(nil)

func (c *cursor) Next() (key, value []byte, err error) {
	if c.done {
		return nil, nil, nil
	}
	if c.started {
		err = c.it.Next()
	}
	c.started = true
	if err == nil {
		key, value, err = c.it.Current()
	}
	if err == moss.ErrIteratorDone {
		c.done = true
		return nil, nil, nil
	}
	return key, value, classify(err)
}

func (c *cursor) Close() error { return c.it.Close() }

// reversed gives pairs that were read before, the last first.
type reversed struct{ pairs []driver.Op }

// reverse reads c to its end and closes it.
func reverse(c driver.Cursor) (_ driver.Cursor, err error) {
	defer func() { err = errors.Join(err, c.Close()) }()
	r := new(reversed)
	for {
		k, v, err := c.Next()
		if err != nil {
			return nil, err
		}
		if k == nil {
			return r, nil
		}
		r.pairs = append(r.pairs, newOp(driver.Op{Key: k, Value: v}))
	}
}

func (r *reversed) Next() (key, value []byte, err error) {
	last := len(r.pairs) - 1
	if last < 0 {
		return nil, nil, nil
	}
	p := r.pairs[last]
	r.pairs = r.pairs[:last]
	return p.Key, p.Value, nil
}

func (*reversed) Close() error { return nil }

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
