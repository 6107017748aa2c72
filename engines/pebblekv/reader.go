package pebblekv

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads a snapshot, or an indexed batch over the store. Closed cursors are kept with their
// iterators, because setting new bounds is a good deal cheaper than building an iterator over all
// levels.
type reader struct {
	from  pebble.Reader
	fence *fence
	free  *cursor
}

var _ driver.Lener = (*reader)(nil)

// Get appends the value of key to dst.
func (r *reader) Get(dst, key []byte) ([]byte, error) {
	value, closer, err := r.from.Get(key)
	if err != nil {
		return dst, r.fence.read(err)
	}
	dst = append(dst, value...)
	return dst, closer.Close()
}

// Len returns the length of the value of key, which is not copied.
func (r *reader) Len(key []byte) (int, error) {
	value, closer, err := r.from.Get(key)
	if err != nil {
		return 0, r.fence.read(err)
	}
	return len(value), closer.Close()
}

// Cursor returns a cursor before the first pair of rg.
func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	c := r.free
	if c == nil {
		c = &cursor{owner: r}
	} else {
		r.free = c.next
	}
	c.bounds.LowerBound, c.bounds.UpperBound = rg.Start, rg.End
	if c.it == nil {
		it, err := r.from.NewIter(&c.bounds)
		if err != nil {
			return nil, r.fence.read(err)
		}
		c.it = it
	} else {
		c.it.SetOptions(&c.bounds) // a batch shows its latest writes
	}
	if c.rg, c.there, c.over = rg, true, false; rg.Reverse {
		c.it.Last()
	} else {
		c.it.First()
	}
	return c, nil
}

// release closes the iterators that were kept.
func (r *reader) release() (err error) {
	for c := r.free; c != nil; c = c.next {
		err = errors.Join(err, c.it.Close())
	}
	r.free = nil
	return r.fence.read(err)
}

// Close drops the snapshot or the batch.
func (r *reader) Close() error { return errors.Join(r.release(), classify(r.from.Close())) }

// cursor walks an iterator, within its bounds.
type cursor struct {
	owner  *reader
	it     *pebble.Iterator
	bounds pebble.IterOptions
	rg     driver.Range
	there  bool    // it stands on the pair that Next returns
	over   bool    // the walk is
	above  []byte  // the key behind the one that was sought
	next   *cursor // in owner.free
}

var _ driver.Seeker = (*cursor)(nil)

// Next moves to the next pair. Pebble reads a value only when it is asked for.
func (c *cursor) Next() (key, value []byte, err error) {
	switch {
	case c.there || c.over:
		c.there = false
	case c.rg.Reverse:
		c.it.Prev()
	default:
		c.it.Next()
	}
	if c.over = c.over || !c.it.Valid(); c.over {
		return nil, nil, c.owner.fence.read(c.it.Error())
	}
	if !c.rg.KeysOnly {
		if value, err = c.it.ValueAndErr(); err != nil {
			return nil, nil, c.owner.fence.read(err)
		}
	}
	return c.it.Key(), value, nil
}

// Seek moves to the first pair at or after key in the direction of the walk.
func (c *cursor) Seek(key []byte) error {
	if c.there, c.over = true, false; c.rg.Reverse {
		c.above = append(append(c.above[:0], key...), 0)
		c.it.SeekLT(c.above)
	} else {
		c.it.SeekGE(key)
	}
	return c.owner.fence.read(c.it.Error())
}

// Close keeps the cursor for the next call of Cursor.
func (c *cursor) Close() error {
	err := c.it.Error()
	c.next, c.owner.free = c.owner.free, c
	return c.owner.fence.read(err)
}
