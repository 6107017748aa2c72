package badgerkv

import (
	"bytes"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads at one time stamp. Badger's own transaction is a new one for every reader.
type reader struct {
	txn  *badger.Txn
	free *cursor // closed cursors, to be used again
}

var _ driver.Reader = (*reader)(nil)

// Get appends the value of key to dst.
func (r *reader) Get(dst, key []byte) ([]byte, error) {
	item, err := r.txn.Get(key)
	if err != nil {
		return dst, classify(err)
	}
	v, err := copyValue(item, dst[len(dst):])
	if err != nil {
		return dst, err
	}
	if len(v) <= cap(dst)-len(dst) {
		return dst[:len(dst)+len(v)], nil // v lies there
	}
	if len(dst) == 0 {
		return v, nil
	}
	return append(dst, v...), nil
}

// Close ends the transaction.
func (r *reader) Close() error {
	r.txn.Discard()
	return nil
}

// copyValue copies the item's value into the capacity of dst, or into new memory if that is too
// little.
//
// Badger logs an error of its value log and returns no value instead of the error. An empty value
// in place of one that is known to be longer is that case; ValueSize, where the value is in the
// value log, is off by some bytes.
func copyValue(item *badger.Item, dst []byte) ([]byte, error) {
	const slack = 8
	v, err := item.ValueCopy(dst)
	if err == nil && len(v) == 0 && item.ValueSize() > slack {
		err = corrupt("the value of %q cannot be read from the value log", item.Key())
	}
	return v, classify(err)
}

// Cursor returns a cursor before the first pair of rg.
func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	c := r.free
	if c == nil {
		c = &cursor{owner: r}
	} else {
		r.free = c.next
	}
	// Badger starts a goroutine per value to prefetch it, which pays only where a value is read
	// from a slow disk.
	c.it = r.txn.NewIterator(badger.IteratorOptions{Reverse: rg.Reverse, Prefix: prefix(rg)})
	c.rg, c.state, c.next = rg, before, nil
	return c, nil
}

// prefix returns the longest known prefix of all keys in rg. Badger leaves out tables without it
// and, going forward, stops behind it, where it would otherwise look for the next pair through all
// that was deleted there.
func prefix(rg driver.Range) []byte {
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

// Where a cursor stands.
const (
	before = iota
	within
	after
)

// cursor walks over a range.
type cursor struct {
	owner *reader
	it    *badger.Iterator
	rg    driver.Range
	state uint8
	value []byte  // the value that Next returned, as Badger may unmap the file it lies in
	next  *cursor // in owner.free
}

var _ driver.Cursor = (*cursor)(nil)

// Next moves to the next pair.
func (c *cursor) Next() (key, value []byte, err error) {
	switch c.state {
	case before:
		c.start()
	case within:
		c.it.Next()
	case after:
		return nil, nil, nil
	}
	c.state = after
	if !c.it.Valid() {
		return nil, nil, nil
	}
	item := c.it.Item()
	if key = item.Key(); c.beyond(key) {
		return nil, nil, nil
	}
	c.state = within
	if c.rg.KeysOnly {
		return key, nil, nil
	}
	if c.value, err = copyValue(item, c.value[:0]); err != nil {
		c.state = after
	}
	return key, c.value, err
}

// start goes to the first pair. In reverse Badger seeks the last key at or below the given one,
// which End excludes.
func (c *cursor) start() {
	if !c.rg.Reverse {
		c.it.Seek(c.rg.Start)
		return
	}
	if c.it.Seek(c.rg.End); c.rg.End != nil && c.it.Valid() && bytes.Equal(c.it.Item().Key(), c.rg.End) {
		c.it.Next()
	}
}

// beyond reports whether key lies behind the end of the walk.
func (c *cursor) beyond(key []byte) bool {
	if c.rg.Reverse {
		return bytes.Compare(key, c.rg.Start) < 0
	}
	return c.rg.End != nil && bytes.Compare(key, c.rg.End) >= 0
}

// Close ends the walk and keeps the cursor for the next call of Cursor.
func (c *cursor) Close() error {
	c.it.Close()
	c.it, c.rg = nil, driver.Range{}
	c.next, c.owner.free = c.owner.free, c
	return nil
}
