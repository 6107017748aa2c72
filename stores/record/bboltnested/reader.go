package bboltnested

import (
	"bytes"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv"
)

// reader reads in a transaction. Its buckets are nil while nothing was ever committed.
type reader struct {
	b           *backend
	pairs, rows *bolt.Bucket
}

func (r *reader) Pair(dst, key []byte) (_ []byte, err error) {
	defer r.b.guard("get", &err)
	if r.pairs == nil {
		return dst, kv.NotFound
	}
	return found(dst, r.pairs.Get(key))
}

func (r *reader) Pairs(rg kv.Range, yield func(key, value []byte) bool) error {
	return r.b.walk(r.pairs, rg, func(key, value []byte) (bool, error) { return yield(key, value), nil })
}

func (r *reader) Row(buf []byte, row [][]byte, id []byte) (_ []byte, err error) {
	defer r.b.guard("get", &err)
	bucket := r.row(id)
	if bucket == nil {
		return buf, kv.NotFound
	}
	buf = buf[:0]
	clear(row)
	c := bucket.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		if i, ok := r.b.byName[string(key)]; ok {
			n := len(buf)
			buf = append(buf, value...)
			if buf == nil {
				buf = []byte{}
			}
			row[i] = buf[n:len(buf):len(buf)] // if buf moves, its old memory stays as it is
		}
	}
	return buf, nil
}

func (r *reader) Column(dst, id []byte, column int) (_ []byte, err error) {
	defer r.b.guard("get", &err)
	bucket := r.row(id)
	if bucket == nil {
		return dst, kv.NotFound
	}
	return found(dst, bucket.Get(r.b.columns[column]))
}

func (r *reader) Rows(rg kv.Range, row [][]byte, yield func(id []byte) bool) error {
	return r.b.walk(r.rows, rg, func(id, _ []byte) (bool, error) {
		if err := r.borrow(row, id); err != nil {
			return false, err
		}
		return yield(id), nil
	})
}

// borrow sets row to the columns of a row in bbolt's memory.
func (r *reader) borrow(row [][]byte, id []byte) (err error) {
	defer r.b.guard("get", &err)
	clear(row)
	bucket := r.row(id)
	if bucket == nil {
		return nil
	}
	c := bucket.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		if i, ok := r.b.byName[string(key)]; ok {
			row[i] = value
			if value == nil {
				row[i] = []byte{} // empty, not absent
			}
		}
	}
	return nil
}

func (r *reader) ColumnOf(rg kv.Range, column int, yield func(id, value []byte) bool) error {
	return r.b.walk(r.rows, rg, func(id, _ []byte) (bool, error) {
		value, err := r.borrowColumn(id, column)
		if err != nil {
			return false, err
		}
		return yield(id, value), nil
	})
}

func (r *reader) borrowColumn(id []byte, column int) (value []byte, err error) {
	defer r.b.guard("get", &err)
	if bucket := r.row(id); bucket != nil {
		value = bucket.Get(r.b.columns[column])
	}
	return value, nil
}

// row returns the bucket of a row, or nil.
func (r *reader) row(id []byte) *bolt.Bucket {
	if r.rows == nil {
		return nil
	}
	return r.rows.Bucket(id)
}

// found appends what bbolt returned for a key, which is nil if there is none.
func found(dst, value []byte) ([]byte, error) {
	if value == nil {
		return dst, kv.NotFound
	}
	return append(dst, value...), nil
}

// walk calls fn with the keys of a range in a bucket, which may be nil, until it returns false.
func (b *backend) walk(bucket *bolt.Bucket, r kv.Range, fn func(key, value []byte) (bool, error)) error {
	if bucket == nil || r.End != nil && bytes.Compare(r.Start, r.End) >= 0 {
		return nil
	}
	c := bucket.Cursor()
	move := func() ([]byte, []byte) { return first(c, r) }
	for {
		key, value, err := b.step(move)
		if err != nil || key == nil || !inside(key, r) {
			return err
		}
		more, err := fn(key, value)
		if err != nil || !more {
			return err
		}
		move = c.Next
		if r.Reverse {
			move = c.Prev
		}
	}
}

// step moves a cursor.
func (b *backend) step(move func() ([]byte, []byte)) (key, value []byte, err error) {
	defer b.guard("scan", &err)
	key, value = move()
	return key, value, nil
}

// first goes to the first key of a range, or to one outside of it.
func first(c *bolt.Cursor, r kv.Range) (key, value []byte) {
	switch {
	case !r.Reverse && len(r.Start) == 0:
		return c.First()
	case !r.Reverse:
		return c.Seek(r.Start)
	case r.End == nil:
		return c.Last()
	}
	if key, _ = c.Seek(r.End); key == nil {
		return c.Last()
	}
	return c.Prev()
}

func inside(key []byte, r kv.Range) bool {
	if r.Reverse {
		return bytes.Compare(key, r.Start) >= 0
	}
	return r.End == nil || bytes.Compare(key, r.End) < 0
}
