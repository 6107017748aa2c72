package bboltkv

import (
	"bytes"
	"context"
	"errors"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads in one bbolt transaction.
type reader struct {
	store  *store
	file   *file
	tx     *bolt.Tx     // nil once a goroutine of the store has it
	bucket *bolt.Bucket // nil while nothing was ever committed
	get    *bolt.Cursor // of Get, made by the first
	free   []*cursor    // closed ones, for the next
}

var (
	_ driver.Reader = (*reader)(nil)
	_ driver.Lener  = (*reader)(nil)
)

// begin begins a transaction on the current file of s, which stays open until Close.
func (r *reader) begin(ctx context.Context, s *store, writable bool) (err error) {
	s.gate.RLock()
	f, apart := s.file, s.growing
	f.users.Add(1)
	if !apart {
		r.tx, r.bucket, err = f.begin(s.options, writable)
	}
	s.gate.RUnlock()
	if apart {
		r.tx, r.bucket, err = s.beginApart(ctx, f, writable)
	} else if err != nil {
		err = errors.Join(err, f.release())
	}
	r.store, r.file = s, f
	return err
}

// Close rolls back unless a commit has ended the transaction.
func (r *reader) Close() (err error) {
	s, f, tx := r.store, r.file, r.tx
	if tx == nil {
		return nil
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.growing {
		s.strays.Go(func() { _ = f.end(tx) })
		return nil
	}
	return f.end(tx)
}

// find returns the value of key, nil if there is none. bbolt's own Get makes a cursor per call,
// with its stack.
func (r *reader) find(key []byte) []byte {
	if r.bucket == nil {
		return nil
	}
	if r.get == nil {
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
	var c *cursor
	if n := len(r.free); n > 0 {
		c, r.free = r.free[n-1], r.free[:n-1]
	} else {
		c = &cursor{reader: r, pages: r.file.db.Info().Data, size: uintptr(r.tx.Size())}
		if r.bucket != nil {
			c.c = r.bucket.Cursor()
		}
	}
	c.r, c.bound, c.begun, c.ended = rng, rng.End, false, r.bucket == nil
	if rng.Reverse {
		c.bound = rng.Start
	}
	return c, nil
}

// ahead is how many pairs a cursor reads at once, under one protection against damaged pages:
// around each step it would cost a sixth of the step, and around the program's loop it would hold
// for a goroutine that has moved on.
const ahead = 4

// cursor walks over a range. What it returns lies in bbolt's pages and holds until the transaction
// ends.
type cursor struct {
	reader       *reader
	c            *bolt.Cursor
	r            driver.Range
	bound        []byte // the one of r that the walk moves towards; nil is none
	begun, ended bool
	next, n      int // pairs[next:n] are read and not yet returned
	pairs        [ahead]struct{ key, value []byte }
	pages, size  uintptr // where the pages of the transaction lie
	touched      byte
}

var _ driver.Cursor = (*cursor)(nil)

func (c *cursor) Next() (key, value []byte, err error) {
	if c.next == c.n {
		if err := c.read(); err != nil || c.n == 0 {
			return nil, nil, err
		}
	}
	p := &c.pairs[c.next]
	c.next++
	return p.key, p.value, nil
}

// read reads ahead. It passes over buckets within this one, which another program made: they have
// no value.
func (c *cursor) read() (err error) {
	defer recovered(&err, protect())
	for c.next, c.n = 0, 0; !c.ended && c.n < ahead; {
		k, v := c.step()
		switch {
		case k == nil, c.bound != nil && (bytes.Compare(k, c.bound) < 0) == c.r.Reverse:
			c.ended = true
		case v != nil:
			if !c.whole(v) {
				return corrupt("a pair lies beyond the end of the file")
			}
			c.pairs[c.n].key, c.pairs[c.n].value = k, v
			c.n++
		}
	}
	return nil
}

func (c *cursor) step() (key, value []byte) {
	begun := c.begun
	c.begun = true
	switch {
	case begun && c.r.Reverse:
		return c.c.Prev()
	case begun:
		return c.c.Next()
	case c.r.Reverse:
		if c.r.End != nil {
			if k, _ := c.c.Seek(c.r.End); k != nil {
				return c.c.Prev()
			}
		}
		return c.c.Last()
	case c.r.Start == nil:
		return c.c.First()
	}
	return c.c.Seek(c.r.Start)
}

// Close forgets what was read: the addresses may be the heap's once the file is no longer mapped.
func (c *cursor) Close() error {
	clear(c.pairs[:c.n])
	c.next, c.n = 0, 0
	c.reader.free = append(c.reader.free, c)
	return nil
}
