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

// view reads a source. Closed cursors are kept with their iterators, because setting new bounds is a good deal
// cheaper than building an iterator over all levels.
type view struct {
	from    source
	fence   *fence
	changes bool // from is a batch that may have changed since an iterator was made
	free    *cursor
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

// classify is the package's classify; behind the fence the failure is the cause of every other error.
func (v *view) classify(err error) error {
	if err == nil || err == pebble.ErrNotFound {
		return classify(err)
	}
	if failed := v.fence.failed(); failed != nil {
		return failed
	}
	return classify(err)
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
	} else if v.free = c.next; v.changes {
		c.it.SetOptions(&pebble.IterOptions{LowerBound: r.Start, UpperBound: r.End})
	} else {
		c.it.SetBounds(r.Start, r.End)
	}
	c.reverse, c.state, c.next = r.Reverse, before, nil
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
	store    *store
	snapshot *pebble.Snapshot
}

var _ driver.Reader = (*reader)(nil)

// Close releases the snapshot and keeps the reader for the next.
func (r *reader) Close() error {
	err := errors.Join(r.release(), classify(r.snapshot.Close()))
	r.snapshot, r.from = nil, nil
	r.store.readers.Put(r)
	return err
}

// Where a cursor stands.
const (
	before = iota
	within
	after
)

// cursor walks an iterator; its bounds are the iterator's.
type cursor struct {
	it      *pebble.Iterator
	view    *view
	reverse bool
	state   uint8
	next    *cursor // in view.free
}

var _ driver.Cursor = (*cursor)(nil)

// Next moves to the next pair.
func (c *cursor) Next() (key, value []byte, err error) {
	if !c.move() {
		c.state = after
		return nil, nil, c.view.classify(c.it.Error())
	}
	if value, err = c.it.ValueAndErr(); err != nil {
		return nil, nil, c.view.classify(err)
	}
	return c.it.Key(), value, nil
}

func (c *cursor) move() bool {
	switch {
	case c.state == within && c.reverse:
		return c.it.Prev()
	case c.state == within:
		return c.it.Next()
	case c.state == after:
		return false
	}
	c.state = within
	if c.reverse {
		return c.it.Last()
	}
	return c.it.First()
}

// Close keeps the cursor for the next call of Cursor.
func (c *cursor) Close() error {
	err := c.it.Error()
	c.next, c.view.free = c.view.free, c
	return c.view.classify(err)
}
