package badgerkv

import (
	"bytes"
	"context"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads at one time stamp. Badger's own transaction is a new one for every reader.
type reader struct {
	store *store
	txn   *badger.Txn
}

var _ driver.Renewer = (*reader)(nil)

// Renew makes it a reader of the last committed state.
func (r *reader) Renew(ctx context.Context) (err error) {
	r.txn, err = r.store.trouble.begin(ctx, r.store.db, false)
	return err
}

// Get appends the value of key to dst.
func (r *reader) Get(dst, key []byte) ([]byte, error) {
	item, err := r.txn.Get(key)
	if err != nil {
		return dst, classify(err)
	}
	return appendValue(dst, item)
}

// Close ends the transaction.
func (r *reader) Close() error {
	r.txn.Discard()
	return nil
}

// Cursor returns a cursor before the first pair of rg.
func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	c := &cursor{owner: r}
	return c, c.Reopen(&rg)
}

// Reopen uses the iterator again if it walks the same way.
func (c *cursor) Reopen(rg *driver.Range) error {
	if p := prefix(rg); c.it == nil || c.rg.Reverse != rg.Reverse || !bytes.Equal(c.prefix, p) {
		if c.it != nil {
			c.it.Close()
		}
		// Badger starts a goroutine per value to prefetch it, which pays only where a value is read
		// from a slow disk.
		c.prefix = bytes.Clone(p)
		c.it = c.owner.txn.NewIterator(badger.IteratorOptions{Reverse: rg.Reverse, Prefix: c.prefix})
	}
	c.rg.Set(rg)
	c.there, c.over = true, false
	if !rg.Reverse {
		c.it.Seek(rg.Start)
	} else if c.it.Seek(rg.End); rg.End != nil && c.it.Valid() && bytes.Equal(c.it.Item().Key(), rg.End) {
		c.it.Next() // Badger seeks the last key at or below the given one
	}
	return nil
}

// prefix returns the longest known prefix of all keys in rg. Badger leaves out tables without it
// and, going forward, stops behind it, where it would otherwise look for the next pair through all
// that was deleted there.
func prefix(rg *driver.Range) []byte {
	n := 0
	for n < len(rg.Start) && n < len(rg.End) && rg.Start[n] == rg.End[n] {
		n++
	}
	// The range of a prefix ends with its successor: between "ab…" and "ac" lies nothing but "ab…".
	// In reverse the walk begins by looking at "ac", which must not be left out.
	if !rg.Reverse && n < len(rg.Start) && n == len(rg.End)-1 && rg.Start[n]+1 == rg.End[n] {
		n++
	}
	return rg.Start[:n]
}

// cursor walks over a range.
type cursor struct {
	owner  *reader
	it     *badger.Iterator
	prefix []byte // of it
	rg     driver.Range
	there  bool   // it stands on the pair that Next returns
	over   bool   // the walk is
	value  []byte // a copy of the value that Next returned
}

var _ driver.Reopener = (*cursor)(nil)
var _ driver.Seeker = (*cursor)(nil)

// Next moves to the next pair.
func (c *cursor) Next() (key, value []byte, err error) {
	if !c.there && !c.over {
		c.it.Next()
	}
	if c.there, c.over = false, c.over || !c.it.Valid(); c.over {
		return nil, nil, nil
	}
	item := c.it.Item()
	if key = item.Key(); c.rg.Beyond(key) {
		c.over = true
		return nil, nil, nil
	}
	switch {
	case c.rg.KeysOnly:
		return key, nil, nil
	case item.EstimatedSize()-item.ValueSize() == item.KeySize(): // the value is not in the value log
		err = item.Value(func(v []byte) error { value = v; return nil })
		return key, value, classify(err)
	}
	c.value, err = appendValue(c.value[:0], item) // Badger may unmap the file that it lies in
	return key, c.value, err
}

// Seek moves to the first pair at or after key in the direction of the walk.
func (c *cursor) Seek(key []byte) error {
	c.it.Seek(key)
	c.there, c.over = true, false
	return nil
}

// Close ends the walk.
func (c *cursor) Close() error {
	c.it.Close()
	return nil
}
