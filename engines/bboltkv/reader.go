package bboltkv

import (
	"bytes"
	"context"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads in one bbolt transaction.
type reader struct {
	store  *store
	file   *file
	tx     *bolt.Tx     // nil once a goroutine of the store has it
	bucket *bolt.Bucket // nil while nothing was ever committed
	read   bool         // Get or Len was called
	get    *bolt.Cursor // of both, from the second call on
	state  int64        // of the store, before the transaction began
}

var _ driver.Lener = (*reader)(nil)

// The argument of begin.
const (
	readOnly  = false
	readWrite = true
)

func (r *reader) begin(ctx context.Context, s *store, writable bool) (err error) {
	r.store = s
	r.file, r.tx, r.bucket, err = s.begin(ctx, writable)
	return err
}

// end rolls back unless a commit has ended the transaction.
func (r *reader) end() error { return r.store.end(r.file, r.tx) }

// find returns the value of key, nil if there is none. bbolt's own Get makes a cursor per call,
// with its stack, which one that is kept saves from the second call on.
func (r *reader) find(key []byte) []byte {
	switch {
	case r.bucket == nil:
		return nil
	case !r.read:
		r.read = true
		return r.bucket.Get(key)
	case r.get == nil:
		r.get = r.bucket.Cursor()
	}
	k, v := r.get.Seek(key)
	if !bytes.Equal(k, key) {
		return nil
	}
	return v
}

func (r *reader) Get(dst, key []byte) (value []byte, err error) {
	defer recovered(&err, protect())
	v := r.find(key)
	if v == nil {
		return dst, driver.NotFound
	}
	return append(dst, v...), nil
}

func (r *reader) Len(key []byte) (n int, err error) {
	defer recovered(&err, protect())
	v := r.find(key)
	if v == nil {
		return 0, driver.NotFound
	}
	return len(v), nil
}

func (r *reader) Cursor(rng driver.Range) (driver.Cursor, error) {
	c := &cursor{file: r.file}
	if r.bucket != nil {
		c.c = r.bucket.Cursor()
	}
	return c, c.Reopen(&rng)
}

// cursor walks over a range. What it returns lies in bbolt's pages and holds until the transaction
// ends.
type cursor struct {
	driver.Ahead
	file    *file
	total   int               // bytes that it has read
	pairs   [most]driver.Pair // what it has read ahead
	touched byte
	c       *bolt.Cursor // nil where there is no bucket
	r       driver.Range
	bound   []byte // the one of r that the walk moves towards; nil is none
	begun   bool
}

var _ driver.Reopener = (*cursor)(nil)

// Reopen moves before the first pair of rng.
func (c *cursor) Reopen(rng *driver.Range) error {
	c.rest()
	c.r.Set(rng)
	c.Ahead, c.bound, c.begun = nil, rng.End, false
	if rng.Reverse {
		c.bound = rng.Start
	}
	return nil
}

// first moves to where the walk begins. A nil key is the end.
func (c *cursor) first() (key, value []byte) {
	if !c.r.Reverse {
		return c.c.Seek(c.r.Start)
	}
	if c.r.End != nil {
		if k, _ := c.c.Seek(c.r.End); k != nil {
			return c.c.Prev()
		}
	}
	return c.c.Last()
}

// Close forgets what was read: the addresses may be the heap's once the file is no longer mapped.
func (c *cursor) Close() error {
	c.rest()
	c.Ahead = nil
	clear(c.pairs[:])
	return nil
}
