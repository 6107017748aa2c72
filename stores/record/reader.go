package record

import (
	"errors"
	"iter"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// Reader reads one state of a collection. It lives as long as the function it was given to and is
// used by one goroutine at a time.
type Reader[T any] struct {
	c    *Collection[T]
	s    *kv.Snapshot
	key  []byte   // of an id
	full []byte   // of a pair
	bufs [][]byte // that parts read by their ids are in
	// parts are the pairs of a record: its own, and those of hot fields, nil for none.
	parts [][]byte
}

func (c *Collection[T]) reader(s *kv.Snapshot) *Reader[T] {
	n := 1 + len(c.plan.hot)
	all := make([][]byte, 2*n)
	return &Reader[T]{c: c, s: s, parts: all[:n:n], bufs: all[n:]}
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

// read reads the record of an id's key, with the kept fields if extra is not nil.
func (r *Reader[T]) read(id []byte, into *T, extra unsafe.Pointer) error {
	if err := r.load(id); err != nil {
		return err
	}
	return r.decode(into, extra)
}

// load sets parts to the pairs of an id's key. An absent record is NotFound.
func (r *Reader[T]) load(id []byte) (err error) {
	r.full = join(r.full, rowPrefix, id)
	if r.bufs[0], err = r.s.Append(r.bufs[0][:0], r.full); err != nil {
		return err
	}
	r.parts[0] = r.bufs[0]
	for i := range r.c.plan.hot {
		if r.parts[i+1], err = r.hot(i, id); err != nil && !isNotFound(err) {
			return err
		}
	}
	return nil
}

// hot returns the pair of a hot field. None is NotFound, and nil.
func (r *Reader[T]) hot(i int, id []byte) (value []byte, err error) {
	r.full = join(r.full, r.c.plan.hot[i].prefix, id)
	if r.bufs[i+1], err = r.s.Append(r.bufs[i+1][:0], r.full); err != nil {
		return nil, err
	}
	return r.bufs[i+1], nil
}

// decode fills into from parts.
func (r *Reader[T]) decode(into *T, extra unsafe.Pointer) error {
	p := r.c.plan
	*into = r.c.defaults
	if p.lent != nil {
		p.detach(unsafe.Pointer(into))
	}
	m := memory{unsafe.Pointer(into), extra}
	if err := p.codec.decode(r.parts[0], m); err != nil {
		return err
	}
	for i := range p.hot {
		if h := &p.hot[i]; r.parts[i+1] != nil && h.at(m) != nil {
			if err := p.codec.readPart(r.parts[i+1], &h.slot, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// Has reports whether there is a record with an id.
func (r *Reader[T]) Has(id ID) (bool, error) {
	if err := r.c.plan.idKind().check("has", id); err != nil {
		return false, err
	}
	r.key = id.AppendKey(r.key[:0])
	return r.s.Has(join(nil, rowPrefix, r.key))
}

// All returns the records of a span in the order of their ids. After an error the walk ends. Within
// an Update nothing may be written while it runs.
func (r *Reader[T]) All(s Span) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var v T
		n, ended := 0, false
		keys, err := r.c.plan.idKind().keys("scan", s)
		if err == nil {
			scan := r.scan(keys, func([]byte) bool {
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

// scan sets parts to the pairs of each record whose id is in a range and calls fn with the key of
// its id until fn returns false. With KeysOnly there are no parts.
func (r *Reader[T]) scan(ids kv.Range, fn func(id []byte) bool) (err error) {
	if len(r.c.plan.hot) == 0 || ids.KeysOnly {
		for k, v := range r.s.Scan(under(rowPrefix, ids)) {
			r.parts[0] = v
			if !fn(k[len(rowPrefix):]) {
				break
			}
		}
		return r.s.Err()
	}
	beside := make([]merge, len(r.c.plan.hot))
	for i := range beside {
		beside[i] = newMerge(r.s, &r.c.plan.hot[i], ids)
		defer func() { err = errors.Join(err, beside[i].Err(), beside[i].Close()) }()
	}
	for k, v := range r.s.Scan(under(rowPrefix, ids)) {
		r.parts[0] = v
		id := k[len(rowPrefix):]
		for i := range beside {
			r.parts[i+1] = beside[i].at(id)
		}
		if !fn(id) {
			break
		}
	}
	return r.s.Err()
}
