package levelkv

import (
	"context"

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

// reader reads a source, which does not change meanwhile.
type reader struct {
	db   *leveldb.DB
	from source
}

var _ driver.Renewer = (*reader)(nil)

// Renew makes it a reader of the last committed state.
func (r *reader) Renew(context.Context) error {
	snap, err := r.db.GetSnapshot()
	r.from = snap
	return classify(err)
}

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
	c := &cursor{it: r.from.NewIterator(nil, nil)}
	return c, c.Reopen(&rg)
}

// Close releases the snapshot.
func (r *reader) Close() error {
	if s, ok := r.from.(*leveldb.Snapshot); ok {
		s.Release()
	}
	return nil
}

// cursor walks over a range. Its iterator is over all keys, because to build one costs as much as
// to read ten pairs.
type cursor struct {
	it    iterator.Iterator
	rg    driver.Range
	there bool // it stands on the pair that Next returns
	over  bool // the walk is; here goleveldb would begin anew
}

var _ driver.Reopener = (*cursor)(nil)

// Reopen moves before the first pair of rg.
func (c *cursor) Reopen(rg *driver.Range) error {
	c.rg.Set(rg)
	if c.there, c.over = true, false; !rg.Reverse {
		c.it.Seek(rg.Start)
	} else if rg.End != nil && c.it.Seek(rg.End) {
		c.it.Prev()
	} else {
		c.it.Last()
	}
	return nil
}

// Next moves to the next pair.
func (c *cursor) Next() (key, value []byte, err error) {
	ok := !c.over
	switch {
	case !ok:
	case c.there:
		c.there, ok = false, c.it.Valid()
	case c.rg.Reverse:
		ok = c.it.Prev()
	default:
		ok = c.it.Next()
	}
	if ok {
		key = c.it.Key()
		ok = !c.rg.Beyond(key)
	}
	if !ok {
		c.over = true
		return nil, nil, classify(c.it.Error())
	}
	return key, c.it.Value(), nil
}

// Close ends the walk.
func (c *cursor) Close() error {
	err := c.it.Error()
	c.it.Release()
	return classify(err)
}
