package bboltkv

import (
	"bytes"
	"errors"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads in one bbolt transaction. Closed readers are used again by later snapshots.
type reader struct {
	store  *store
	file   *file
	tx     *bolt.Tx
	bucket *bolt.Bucket // nil while nothing was ever committed
	get    *bolt.Cursor // of Get, made by the first
	free   []*cursor
}

var _ driver.Reader = (*reader)(nil)

// The argument of bbolt's Begin.
const (
	readOnly  = false
	readWrite = true
)

// begin begins a transaction on the current file of s, which stays open until end.
func (r *reader) begin(s *store, writable bool) (err error) {
	f, err := s.acquire()
	if err != nil {
		return err
	}
	defer func(old bool) {
		if p := restore(old, recover()); p != nil {
			f.broken.Store(true)
			err = errors.Join(corrupt(p), f.release()) // nobody calls end
		}
	}(protect())
	tx, err := f.begin(writable)
	if err != nil {
		return errors.Join(classify(err), f.release())
	}
	r.store, r.file, r.tx, r.bucket = s, f, tx, tx.Bucket(bucketName)
	return nil
}

// Get seeks with a cursor that it keeps: bbolt's own Get makes one per call, with its stack.
func (r *reader) Get(dst, key []byte) (value []byte, err error) {
	defer recovered(&err, protect())
	if r.bucket == nil {
		return dst, driver.NotFound
	}
	if r.get == nil {
		r.get = r.bucket.Cursor()
	}
	k, v := r.get.Seek(key)
	if !bytes.Equal(k, key) {
		return dst, driver.NotFound
	}
	return append(dst, v...), nil
}

func (r *reader) Cursor(rng driver.Range) (driver.Cursor, error) {
	var c *cursor
	if n := len(r.free); n > 0 {
		c, r.free = r.free[n-1], r.free[:n-1]
	} else {
		c = &cursor{reader: r}
	}
	if c.c == nil && r.bucket != nil {
		c.c = r.bucket.Cursor()
	}
	c.r, c.bound, c.state, c.fault = rng, rng.End, before, protect()
	if rng.Reverse {
		c.bound = rng.Start
	}
	return c, nil
}

// Close ends the transaction. Its cursors belong to it and are dropped; their frames are kept.
func (r *reader) Close() error {
	err := r.end()
	readers.Put(r)
	return err
}

// end rolls back unless a commit has ended the transaction.
func (r *reader) end() error {
	var err error
	if r.tx.DB() != nil && !r.file.broken.Load() {
		err = classify(r.tx.Rollback())
	}
	if rerr := r.file.release(); err == nil {
		err = rerr
	}
	r.store, r.file, r.tx, r.bucket, r.get = nil, nil, nil, nil, nil
	for _, c := range r.free {
		c.c = nil
	}
	return err
}

// cursor walks over a range. What it returns lies in bbolt's pages and holds until the transaction ends.
//
// From Cursor to Close the goroutine panics on a memory fault (see protect): to switch that on and off around every
// step would cost a third of the step.
type cursor struct {
	reader *reader
	c      *bolt.Cursor // nil if there is no bucket
	r      driver.Range
	bound  []byte // the one of r that the walk moves towards; nil is none
	state  state
	fault  bool // what protect returned
}

var _ driver.Cursor = (*cursor)(nil)

type state uint8

const (
	before state = iota // the first Next seeks
	within
	after
)

func (c *cursor) Next() (key, value []byte, err error) {
	defer recoveredStep(&err)
	switch c.state {
	case within:
		if c.r.Reverse {
			key, value = c.c.Prev()
		} else {
			key, value = c.c.Next()
		}
	case before:
		c.state = within
		key, value = c.seek()
	default:
		return nil, nil, nil
	}
	if key == nil || c.bound != nil && c.outside(key) {
		c.state = after
		return nil, nil, nil
	}
	return key, value, nil
}

// outside reports whether key is beyond the bound that the walk moves towards, which is not nil.
func (c *cursor) outside(key []byte) bool {
	if c.r.Reverse {
		return bytes.Compare(key, c.bound) < 0
	}
	return bytes.Compare(key, c.bound) >= 0
}

func (c *cursor) seek() (key, value []byte) {
	switch {
	case c.c == nil:
		return nil, nil
	case c.r.Reverse && c.r.End == nil:
		return c.c.Last()
	case c.r.Reverse:
		if k, _ := c.c.Seek(c.r.End); k == nil {
			return c.c.Last()
		}
		return c.c.Prev()
	case c.r.Start == nil:
		return c.c.First()
	}
	return c.c.Seek(c.r.Start)
}

func (c *cursor) Close() error {
	restore(c.fault, nil)
	c.r, c.bound = driver.Range{}, nil
	c.reader.free = append(c.reader.free, c)
	return nil
}
