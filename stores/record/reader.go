package record

import (
	"errors"
	"iter"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// Reader reads one state of a collection. It lives as long as the function it was given to and is used by one goroutine at a
// time.
type Reader[T any] struct {
	c   *Collection[T]
	b   BackendReader
	key []byte
	buf []byte
	row [][]byte
}

func (c *Collection[T]) reader(b BackendReader) *Reader[T] {
	return &Reader[T]{c: c, b: b, row: make([][]byte, c.plan.width())}
}

// Get returns the record with an id. An absent one is NotFound.
func (r *Reader[T]) Get(id ID) (T, error) {
	var v T
	err := r.Read(id, &v)
	return v, err
}

// Read is Get into memory of the caller. After an error into is undefined.
func (r *Reader[T]) Read(id ID, into *T) error {
	if err := r.c.plan.idKind().check("get", id); err != nil {
		return err
	}
	r.key = id.AppendKey(r.key[:0])
	return r.read(r.key, into, nil)
}

// read reads the row of an id's key, with the kept fields if extra is not nil.
func (r *Reader[T]) read(id []byte, into *T, extra unsafe.Pointer) (err error) {
	if r.buf, err = r.b.Row(r.buf, r.row, id); err != nil {
		return err
	}
	return r.decode(into, extra)
}

// decode fills into from the row that was read.
func (r *Reader[T]) decode(into *T, extra unsafe.Pointer) error {
	*into = r.c.defaults
	if r.c.plan.ownBytes {
		r.c.plan.detach(unsafe.Pointer(into))
	}
	return r.c.plan.decode(r.row, memory{unsafe.Pointer(into), extra})
}

// Has reports whether there is a record with an id.
func (r *Reader[T]) Has(id ID) (bool, error) {
	if err := r.c.plan.idKind().check("has", id); err != nil {
		return false, err
	}
	r.key = id.AppendKey(r.key[:0])
	_, err := r.b.Row(r.buf, r.row, r.key)
	if errors.Is(err, kv.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// All returns the records of a span in the order of their ids. After an error the walk ends. Within an Update nothing may
// be written while it runs.
func (r *Reader[T]) All(s Span) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var v T
		n, ended := 0, false
		keys, err := r.c.plan.idKind().keys("scan", s)
		if err == nil {
			scan := r.b.Rows(keys, r.row, func([]byte) bool {
				if err = r.decode(&v, nil); err != nil {
					return false
				}
				n++
				ended = !yield(v, nil)
				return !ended && n != s.Limit
			})
			err = errors.Join(err, scan)
		}
		if err != nil && !ended {
			yield(*new(T), err)
		}
	}
}
