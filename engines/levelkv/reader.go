package levelkv

import (
	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/iterator"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"

	"github.com/assaydb/assay/kv/driver"
)

// source is what can be read: a snapshot, or the store itself.
type source interface {
	Get(key []byte, o *opt.ReadOptions) ([]byte, error)
	NewIterator(slice *util.Range, o *opt.ReadOptions) iterator.Iterator
}

// reader reads a source.
type reader struct {
	from     source
	snapshot *leveldb.Snapshot
}

var _ driver.Reader = (*reader)(nil)

// Get appends the value of key to dst.
func (r *reader) Get(dst, key []byte) ([]byte, error) {
	value, err := r.from.Get(key, nil)
	if err != nil {
		return dst, classify(err)
	}
	return append(dst, value...), nil
}

// Cursor returns a cursor before the first pair of rg.
func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	return &cursor{it: r.from.NewIterator(&util.Range{Start: rg.Start, Limit: rg.End}, nil), reverse: rg.Reverse}, nil
}

// Close releases the snapshot.
func (r *reader) Close() error {
	r.snapshot.Release()
	return nil
}

// Where a cursor stands.
const (
	before = iota
	within
	sought // on the pair that Next returns
	after  // goleveldb: here an iterator would begin anew
)

// cursor walks an iterator in one direction.
type cursor struct {
	it      iterator.Iterator
	reverse bool
	state   uint8
}

var _ driver.Seeker = (*cursor)(nil)

// Next moves to the next pair.
func (c *cursor) Next() (key, value []byte, err error) {
	if !c.move() {
		return nil, nil, classify(c.it.Error())
	}
	return c.it.Key(), c.it.Value(), nil
}

// move moves to the next pair and reports whether there is one.
func (c *cursor) move() (found bool) {
	switch {
	case c.state == after:
		return false
	case c.state == sought:
		found = c.it.Valid()
	case c.state == before && c.reverse:
		found = c.it.Last()
	case c.state == before:
		found = c.it.First()
	case c.reverse:
		found = c.it.Prev()
	default:
		found = c.it.Next()
	}
	if c.state = within; !found {
		c.state = after
	}
	return found
}

// Seek moves to the first pair at or after key in the direction of the walk.
func (c *cursor) Seek(key []byte) error {
	c.state = sought
	switch found := c.it.Seek(key); {
	case c.reverse && !found:
		c.it.Last()
	case c.reverse && string(c.it.Key()) != string(key):
		c.it.Prev()
	}
	return classify(c.it.Error())
}

// Close releases the iterator.
func (c *cursor) Close() error {
	err := c.it.Error()
	c.it.Release()
	return classify(err)
}
