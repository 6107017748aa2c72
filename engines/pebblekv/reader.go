package pebblekv

import (
	"context"
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads a snapshot; or a batch and the store below it.
type reader struct {
	db    *pebble.DB
	from  pebble.Reader // db itself until something is read that was written
	batch *pebble.Batch // of a txn
	fence *fence
}

var _ driver.Lener = (*reader)(nil)
var _ driver.Renewer = (*reader)(nil)

// Renew makes it a reader of the last committed state.
func (r *reader) Renew(context.Context) error {
	r.from = r.db.NewSnapshot()
	return nil
}

// index makes what is in the batch readable. Most transactions that write little do not read it,
// and an index takes Pebble a tenth of such a transaction.
func (r *reader) index() error {
	if r.batch == nil || r.batch.Empty() || r.from != pebble.Reader(r.db) {
		return nil
	}
	b := r.db.NewIndexedBatch()
	err := errors.Join(b.Apply(r.batch, nil), r.batch.Close())
	r.batch, r.from = b, b
	return err
}

func (r *reader) get(key []byte) (value []byte, c io.Closer, err error) {
	if err = r.index(); err == nil {
		value, c, err = r.from.Get(key)
	}
	return value, c, r.fence.read(err)
}

// Get appends the value of key to dst.
func (r *reader) Get(dst, key []byte) ([]byte, error) {
	value, closer, err := r.get(key)
	if err != nil {
		return dst, err
	}
	dst = append(dst, value...)
	return dst, closer.Close()
}

// Len returns the length of the value of key, which is not copied.
func (r *reader) Len(key []byte) (int, error) {
	value, closer, err := r.get(key)
	if err != nil {
		return 0, err
	}
	return len(value), closer.Close()
}

// Cursor returns a cursor before the first pair of rg.
func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	c := &cursor{owner: r, bounds: pebble.IterOptions{LowerBound: rg.Start, UpperBound: rg.End}}
	err := r.index()
	if err == nil {
		c.it, err = r.from.NewIter(&c.bounds)
	}
	if err != nil {
		return nil, r.fence.read(err)
	}
	return c, c.Reopen(&rg)
}

// Close drops the snapshot.
func (r *reader) Close() error { return classify(r.from.Close()) }

// cursor walks an iterator, within its bounds.
type cursor struct {
	owner  *reader
	it     *pebble.Iterator
	bounds pebble.IterOptions
	rg     driver.Range
	there  bool   // it stands on the pair that Next returns
	over   bool   // the walk is
	above  []byte // the key behind the one that was sought
}

var _ driver.Reopener = (*cursor)(nil)
var _ driver.Seeker = (*cursor)(nil)

// Reopen sets new bounds, which is a good deal cheaper than to build an iterator over all levels.
func (c *cursor) Reopen(rg *driver.Range) error {
	c.bounds.LowerBound, c.bounds.UpperBound = rg.Start, rg.End
	c.it.SetOptions(&c.bounds)
	c.rg.Set(rg)
	if c.there, c.over = true, false; rg.Reverse {
		c.it.Last()
	} else {
		c.it.First()
	}
	return nil
}

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

// Close ends the walk.
func (c *cursor) Close() error { return c.owner.fence.read(c.it.Close()) }
