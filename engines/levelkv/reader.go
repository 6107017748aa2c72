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
	return &cursor{walk: walk{it: r.iterator(rg), reverse: rg.Reverse}}, nil
}

func (r *reader) iterator(rg driver.Range) iterator.Iterator {
	return r.from.NewIterator(&util.Range{Start: rg.Start, Limit: rg.End}, nil)
}

// Close releases the snapshot.
func (r *reader) Close() error {
	r.snapshot.Release()
	return nil
}

// walk moves an iterator in one direction. goleveldb: after its end an iterator would begin anew.
type walk struct {
	it      iterator.Iterator
	reverse bool
	begun   bool
	ended   bool
}

// next moves to the next pair and reports whether there is one.
func (w *walk) next() bool {
	switch {
	case w.ended:
		return false
	case !w.begun && w.reverse:
		w.ended = !w.it.Last()
	case !w.begun:
		w.ended = !w.it.First()
	case w.reverse:
		w.ended = !w.it.Prev()
	default:
		w.ended = !w.it.Next()
	}
	w.begun = true
	return !w.ended
}

// cursor is a walk over a source.
type cursor struct{ walk }

var _ driver.Cursor = (*cursor)(nil)

// Next moves to the next pair.
func (c *cursor) Next() (key, value []byte, err error) {
	if !c.next() {
		return nil, nil, classify(c.it.Error())
	}
	return c.it.Key(), c.it.Value(), nil
}

// Close releases the iterator.
func (c *cursor) Close() error {
	err := c.it.Error()
	c.it.Release()
	return classify(err)
}
