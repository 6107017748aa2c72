package kv

import (
	"bytes"
	"cmp"
	"context"
	"errors"

	"github.com/assaydb/assay/kv/driver"
)

// Iterator walks over the pairs of a range, and can move within it. It is used by one goroutine at
// a time.
//
//	it := s.Iter(kv.Range{})
//	defer it.Close()
//	for it.Seek(key); it.Next(); {
//		use(it.Key(), it.Value())
//	}
//	return it.Err()
//
// An Iterator that is open when its snapshot ends is closed, and the end is an error.
type Iterator struct {
	walk
	s          *Snapshot
	r          driver.Range // as the engine knows it; its bounds lie in bounds
	bounds     []byte
	target     []byte       // of Seek
	sought     driver.Range // likewise: r from there on
	key, value []byte
	err        error
	none       bool // no key is in the range
	plain      bool // no lock or tracer stands between a step and the cursor
	owns       bool // its snapshot
	span       *span
	prev, next *Iterator // of the view's

	// Of a scan, whose iterator nobody else holds:
	scan  bool
	pairs []driver.Pair  // what was read and is to be lent; nil once c is
	one   [1]driver.Pair // pairs where c is no Chunker
	steps int
}

// walk is a cursor and what it can do.
type walk struct {
	c       driver.Cursor   // nil once the iterator is closed, nothing where no pair can come
	again   driver.Reopener // c, if it is one
	chunker driver.Chunker  // likewise
}

func walkOf(c driver.Cursor, err error) (walk, error) {
	if err != nil {
		return walk{}, err
	}
	again, _ := c.(driver.Reopener)
	chunker, _ := c.(driver.Chunker)
	return walk{c, again, chunker}, nil
}

// Iter returns an iterator before the first pair of r. What goes wrong is told by Err.
func (s *Snapshot) Iter(r Range) *Iterator {
	it := new(Iterator)
	it.err = it.init(s, &r)
	return it
}

// Iter returns an iterator over the last committed state, which its Close lets go. See
// [DB.Snapshot] for what that holds. The iterator ends with ctx. What goes wrong is told by Err.
func (db *DB) Iter(ctx context.Context, r Range) *Iterator {
	s, err := db.snapshot(ctx, func(ctx context.Context) context.Context { return ctx })
	if err != nil {
		return &Iterator{s: &Snapshot{view: &endedView, db: db}, err: err}
	}
	it := s.Iter(r)
	it.owns = true
	return it
}

// init opens it on r. It copies the bounds. A Range does not fit into the registers that hold
// arguments.
func (it *Iterator) init(s *Snapshot, r *Range) (err error) {
	if it.s, it.plain = s, s.plain(); it.plain {
		return it.open(r)
	}
	_, it.span = startSpan(s.ctx, s.db.tracer, Event{Op: "scan"})
	s.enter()
	defer s.leave()
	if err = it.open(r); err != nil {
		it.span.end(err)
	}
	return err
}

// open is init within enter.
func (it *Iterator) open(r *Range) (err error) {
	s := it.s
	if s.r == nil {
		return s.refuse("scan")
	}
	it.setRange(r)
	free := s.free
	switch it.none = r.empty(); {
	case it.none:
		it.walk, err = walk{c: nothing{}}, s.keepNone()
	case free == nil || free.c == nil:
		it.walk, err = walkOf(s.r.Cursor(it.r))
	default:
		if err = free.again.Reopen(&it.r); err != nil {
			err = errors.Join(err, s.keepNone())
		} else if free != it {
			it.walk, free.walk = free.walk, walk{}
		}
	}
	if err != nil {
		it.walk = walk{}
		return s.db.wrap("scan", err)
	}
	if free == it {
		s.free = nil
	}
	if s.open != nil {
		it.next, s.open.prev = s.open, it
	}
	s.open = it
	return nil
}

// setRange makes r what the engine walks over. A namespace begins behind its prefix: that is a key
// of the parent, and would be the empty key here.
func (it *Iterator) setRange(r *Range) {
	prefix := it.s.db.prefix
	b := append(append(it.bounds[:0], prefix...), r.Start...)
	if len(b) > 0 && len(r.Start) == 0 {
		b = append(b, 0)
	}
	n := len(b)
	if r.End != nil {
		b = append(append(b, prefix...), r.End...)
	} else {
		b = append(b, it.s.db.end...)
	}
	it.bounds = b
	it.r.Start, it.r.End, it.r.Reverse, it.r.KeysOnly = nil, nil, r.Reverse, r.KeysOnly
	if n > 0 {
		it.r.Start = b[:n:n]
	}
	if n < len(b) {
		it.r.End = b[n:]
	}
}

// Next moves to the next pair and reports whether there is one. After false, Err tells whether the
// range has ended or something went wrong.
func (it *Iterator) Next() bool {
	if it.err != nil {
		return false
	}
	k, v, err := it.step()
	if err != nil {
		it.err = it.s.db.wrap("scan", err)
	}
	if it.key, it.value = nil, v; k != nil {
		it.key = k[len(it.s.db.prefix):]
	}
	return k != nil && err == nil
}

// Key returns the key of the pair that Next moved to; it is borrowed until the next call of Next,
// Seek or Close.
func (it *Iterator) Key() []byte { return it.key }

// Value returns the value of that pair, likewise borrowed.
func (it *Iterator) Value() []byte { return it.value }

// Err returns what ended the walk early, or nil.
func (it *Iterator) Err() error { return it.err }

// Seek moves so that the following Next goes to the first pair of the range at or after key; in
// reverse, at or before.
func (it *Iterator) Seek(key []byte) {
	it.key, it.value = nil, nil
	if it.err != nil {
		return
	}
	s := it.s
	s.enter()
	defer s.leave()
	if it.c == nil {
		it.err = s.db.wrap("seek", errEnded())
		return
	}
	it.err = s.db.wrap("seek", it.seek(key))
}

func (it *Iterator) seek(key []byte) error {
	if it.none {
		return nil
	}
	it.target = append(append(it.target[:0], it.s.db.prefix...), key...)
	r := &it.sought
	*r = it.r
	low := len(it.target) == 0 || r.Start != nil && bytes.Compare(it.target, r.Start) < 0
	high := r.End != nil && bytes.Compare(it.target, r.End) >= 0
	switch {
	case low && r.Reverse, high && !r.Reverse:
		return it.replace(nothing{}, nil)
	case low, high: // from the range's own beginning
		return it.replace(it.s.r.Cursor(*r))
	}
	if _, none := it.c.(nothing); none {
		if err := it.replace(it.s.r.Cursor(*r)); err != nil {
			return err
		}
	}
	if c, ok := it.c.(driver.Seeker); ok {
		return c.Seek(it.target)
	}
	if r.Reverse {
		it.target = append(it.target, 0)
		r.End = it.target
	} else {
		r.Start = it.target
	}
	if it.again != nil {
		return it.again.Reopen(r)
	}
	return it.replace(it.s.r.Cursor(*r))
}

// replace closes the cursor and goes on with c.
func (it *Iterator) replace(c driver.Cursor, err error) error {
	cerr := it.c.Close()
	if it.walk, err = walkOf(c, err); err != nil {
		it.c = nothing{}
	}
	return cmp.Or(err, cerr)
}

// Close ends the walk. Closing again does nothing.
func (it *Iterator) Close() error {
	err := it.close()
	if it.owns {
		it.owns = false
		err = errors.Join(err, it.s.Close())
	}
	return err
}

func (it *Iterator) close() error {
	it.s.enter()
	defer it.s.leave()
	if it.c == nil {
		return nil
	}
	return it.s.db.wrap("scan", it.shut())
}

// shut is Close for one that is open, within enter. The cursor is kept for the next, if it can be.
func (it *Iterator) shut() (err error) {
	switch free := it.s.free; {
	case it.again == nil || it.err != nil || free != nil && free.c != nil:
		err = it.c.Close()
		it.walk = walk{}
	case it.scan:
		it.s.free = it
	default:
		it.s.free, it.walk = &Iterator{walk: it.walk, scan: true}, walk{}
	}
	it.plain, it.key, it.value = false, nil, nil
	it.pairs = nil
	it.one[0] = driver.Pair{}
	if it.prev != nil {
		it.prev.next = it.next
	} else {
		it.s.open = it.next
	}
	if it.next != nil {
		it.next.prev = it.prev
	}
	it.prev, it.next = nil, nil
	it.span.end(err)
	it.span = nil
	return err
}

// checkEvery is how many pairs are read between two looks at a context.
const checkEvery = 64

// step returns the next pair, a nil key at the end.
func (it *Iterator) step() (k, v []byte, err error) {
	if err := it.s.ctx.Err(); err != nil {
		return nil, nil, err
	}
	if it.plain {
		return it.c.Next()
	}
	it.s.enter()
	defer it.s.leave()
	if it.c == nil { // also that of a scan that a coroutine still holds
		return nil, nil, errEnded()
	}
	if k, v, err = it.c.Next(); k != nil && err == nil {
		it.span.pair(k[len(it.s.db.prefix):], v)
	}
	return k, v, err
}

// more reads the next pairs of a scan, and reports whether there are any.
func (it *Iterator) more() bool {
	switch it.pairs = nil; {
	case it.err != nil:
	case it.chunker != nil && it.plain:
		if it.err = it.s.ctx.Err(); it.err == nil {
			it.pairs, it.err = it.chunker.Chunk()
		}
	default:
		p := &it.one[0]
		if it.steps++; it.plain && it.steps%checkEvery != 0 {
			p.Key, p.Value, it.err = it.c.Next() // it.step, without the call
		} else {
			p.Key, p.Value, it.err = it.step()
		}
		if p.Key != nil {
			it.pairs = it.one[:]
		}
	}
	return it.err == nil && len(it.pairs) > 0
}

// nothing is the cursor of a range without pairs.
type nothing struct{}

func (nothing) Next() (key, value []byte, err error) { return nil, nil, nil }
func (nothing) Close() error                         { return nil }
