package pebblekv

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

// source is what can be read: a snapshot, the store, or an indexed batch over the store.
type source interface {
	Get(key []byte) ([]byte, io.Closer, error)
	NewIter(*pebble.IterOptions) (*pebble.Iterator, error)
}

// view reads a source. Closed cursors are kept with their iterators, because setting new bounds is
// a good deal cheaper than building an iterator over all levels.
type view struct {
	from  source
	fence *fence
	free  *cursor
}

// Get appends the value of key to dst.
func (v *view) Get(dst, key []byte) ([]byte, error) {
	value, closer, err := v.from.Get(key)
	if err != nil {
		return dst, v.classify(err)
	}
	dst = append(dst, value...)
	return dst, closer.Close()
}

// Len returns the length of the value of key, which is not copied.
func (v *view) Len(key []byte) (int, error) {
	value, closer, err := v.from.Get(key)
	if err != nil {
		return 0, v.classify(err)
	}
	return len(value), closer.Close()
}

// classify is the package's classify; behind the fence the failure is the cause of every other
// error.
func (v *view) classify(err error) error {
	if err == nil || err == pebble.ErrNotFound {
		return classify(err)
	}
	return v.fence.outcome(err)
}

// Cursor returns a cursor before the first pair of r.
func (v *view) Cursor(r driver.Range) (driver.Cursor, error) {
	c := v.free
	if c == nil {
		it, err := v.from.NewIter(&pebble.IterOptions{LowerBound: r.Start, UpperBound: r.End})
		if err != nil {
			return nil, v.classify(err)
		}
		c = &cursor{it: it, view: v}
	} else {
		v.free = c.next
		c.it.SetOptions(&pebble.IterOptions{LowerBound: r.Start, UpperBound: r.End}) // a batch shows its latest writes
	}
	c.reverse, c.keysOnly, c.state, c.next = r.Reverse, r.KeysOnly, before, nil
	return c, nil
}

// release closes the iterators that were kept.
func (v *view) release() (err error) {
	for c := v.free; c != nil; c = c.next {
		err = errors.Join(err, c.it.Close())
	}
	v.free = nil
	return v.classify(err)
}

// reader is a view of a snapshot.
type reader struct {
	view
	snapshot *pebble.Snapshot
}

var _ driver.Lener = (*reader)(nil)

// Close releases the snapshot.
func (r *reader) Close() error { return errors.Join(r.release(), classify(r.snapshot.Close())) }

// Where a cursor stands.
const (
	before = iota
	within
	sought // on the pair that Next returns
	after
)

// cursor walks an iterator; its bounds are the iterator's.
type cursor struct {
	it       *pebble.Iterator
	view     *view
	reverse  bool
	keysOnly bool
	state    uint8
	above    []byte  // the key behind the one that was sought
	next     *cursor // in view.free
}

var _ driver.Seeker = (*cursor)(nil)

// Next moves to the next pair. Pebble reads a value only when it is asked for.
func (c *cursor) Next() (key, value []byte, err error) {
	if !c.move() {
		c.state = after
		return nil, nil, c.view.classify(c.it.Error())
	}
	if c.state = within; c.keysOnly {
		return c.it.Key(), nil, nil
	}
	if value, err = c.it.ValueAndErr(); err != nil {
		return nil, nil, c.view.classify(err)
	}
	return c.it.Key(), value, nil
}

func (c *cursor) move() bool {
	switch {
	case c.state == sought:
		return c.it.Valid()
	case c.state == after:
		return false
	case c.state == within && c.reverse:
		return c.it.Prev()
	case c.state == within:
		return c.it.Next()
	case c.reverse:
		return c.it.Last()
	}
	return c.it.First()
}

// Seek moves to the first pair at or after key in the direction of the walk.
func (c *cursor) Seek(key []byte) error {
	if c.state = sought; c.reverse {
		c.above = append(append(c.above[:0], key...), 0)
		c.it.SeekLT(c.above)
	} else {
		c.it.SeekGE(key)
	}
	return c.view.classify(c.it.Error())
}

// Close keeps the cursor for the next call of Cursor.
func (c *cursor) Close() error {
	err := c.it.Error()
	c.next, c.view.free = c.view.free, c
	return c.view.classify(err)
}
