package kv

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/assaydb/assay/kv/driver"
)

// Snapshot is a fixed state of the store.
//
// One that [DB.View] or [DB.Update] gave to a function lives as long as that function and is used by one goroutine at a
// time. One that [DB.Snapshot] returned lives until Close and may be used by several goroutines, which take turns. After
// its end every method fails with Closed.
type Snapshot struct {
	*view
	db  *DB
	key []byte // the namespace's prefix, with room for a key behind it
}

// view is what a Snapshot shares with its namespaces.
type view struct {
	r       driver.Reader // nil after the end
	ctx     context.Context
	done    <-chan struct{} // ends running scans; nil if nothing does
	mu      *sync.Mutex     // of a view that outlives a function, nil of others
	open    *Iterator       // the first of those that are open
	err     error           // the first error of a scan; View and Update return it
	scratch []byte          // for values that are not kept
	free    *Iterator       // of a scan that is over; nil where mu is not
}

// enter and leave stand around every call into the engine.
func (v *view) enter() {
	if v.mu != nil {
		v.mu.Lock()
	}
}

func (v *view) leave() {
	if v.mu != nil {
		v.mu.Unlock()
	}
}

// end closes what is still open, and the reader. That something was open is an error.
func (v *view) end() error {
	left := 0
	for v.open != nil {
		left++
		v.open.shut()
	}
	err := v.r.Close()
	v.r = nil
	if v.free != nil {
		iterators.Put(v.free)
		v.free = nil
	}
	if left > 0 {
		err = errors.Join(err, &Error{Kind: Invalid, Err: fmt.Errorf("%d scans or iterators were still open at the end", left),
			Hint: "end loops, call the stop function of iter.Pull2, close iterators before the transaction ends"})
	}
	return err
}

// Get returns a copy of the value of key. An absent key is NotFound.
func (s *Snapshot) Get(key []byte) ([]byte, error) {
	v, err := s.Append(nil, key)
	if v == nil && err == nil {
		v = []byte{}
	}
	return v, err
}

// Append appends the value of key to dst and returns the extended slice; it allocates only if dst is too short.
// An absent key returns dst and NotFound.
func (s *Snapshot) Append(dst, key []byte) ([]byte, error) {
	if s.mu == nil && s.db.tracer == nil {
		return s.append(dst, key)
	}
	_, sp := s.db.startSpan(s.ctx, "get")
	s.enter()
	defer s.leave()
	v, err := s.append(dst, key)
	if err == nil {
		sp.pair(key, v[len(dst):])
	}
	sp.end(err)
	return v, err
}

func (s *Snapshot) append(dst, key []byte) ([]byte, error) {
	if s.r == nil || len(key) == 0 {
		return dst, s.refuse("get")
	}
	v, err := s.r.Get(dst, s.full(key))
	if err != nil && err != error(driver.NotFound) {
		return dst, s.db.wrap("get", err)
	}
	return v, err
}

// Len returns the length of the value of key in bytes. An absent key is NotFound. Engines that can tell it without
// reading the value do.
func (s *Snapshot) Len(key []byte) (n int, err error) {
	_, sp := s.db.startSpan(s.ctx, "len")
	defer func() { sp.end(err) }()
	s.enter()
	defer s.leave()
	if s.r == nil || len(key) == 0 {
		return 0, s.refuse("len")
	}
	if l, ok := s.r.(driver.Lener); ok {
		n, err = l.Len(s.full(key))
	} else {
		s.scratch, err = s.r.Get(s.scratch[:0], s.full(key))
		n = len(s.scratch)
	}
	if err != nil && err != error(driver.NotFound) {
		return 0, s.db.wrap("len", err)
	}
	return n, err
}

// Has reports whether key is present.
func (s *Snapshot) Has(key []byte) (bool, error) {
	_, err := s.Len(key)
	if err == error(driver.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// Scan returns the pairs of r in order. Key and value are borrowed until the next step: copy what is kept, change
// nothing. A scan that fails, or whose context has ended, ends early, and View or Update then returns its error even if
// the function returned nil; Err tells it earlier. Within an Update, writes are refused while a scan is running.
func (s *Snapshot) Scan(r Range) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) { s.scan(r, yield) }
}

// Keys returns the keys of r in order, as Scan does the pairs.
func (s *Snapshot) Keys(r Range) iter.Seq[[]byte] {
	r.KeysOnly = true
	return func(yield func(k []byte) bool) {
		s.scan(r, func(k, _ []byte) bool { return yield(k) })
	}
}

// Err returns the first error that ended a scan of this snapshot early, or nil.
func (s *Snapshot) Err() error {
	s.enter()
	defer s.leave()
	return s.err
}

// DB returns the store, or the namespace, that s is a state of.
func (s *Snapshot) DB() *DB { return s.db }

// Namespace returns a view of s that holds only the keys beginning with prefix, shown without it. It ends with s, and is
// used like it.
func (s *Snapshot) Namespace(prefix []byte) *Snapshot {
	return newSnapshot(s.view, s.db.Namespace(prefix))
}

func newSnapshot(v *view, db *DB) *Snapshot {
	s := new(Snapshot)
	s.init(v, db)
	return s
}

func (s *Snapshot) init(v *view, db *DB) {
	s.view, s.db = v, db
	if len(db.prefix) > 0 {
		s.key = append(make([]byte, 0, len(db.prefix)+64), db.prefix...)
	}
}

// full returns key as the engine knows it. It holds until the next call.
func (s *Snapshot) full(key []byte) []byte {
	if s.key == nil {
		return key
	}
	s.key = append(s.key[:len(s.db.prefix)], key...)
	return s.key
}

// scan pulls from the driver's cursor rather than handing yield to the driver: an argument of an interface method
// escapes, and with it the loop body and every variable that it uses.
func (s *Snapshot) scan(r Range, yield func(k, v []byte) bool) {
	it := s.iterator()
	err := it.init(s, r)
	defer func() {
		if cerr := it.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			s.fail(err)
		}
		s.recycle(it)
	}()
	if err != nil {
		return
	}
	for n := 1; ; n++ {
		var k, v []byte
		if it.plain && n%checkEvery != 0 {
			k, v, err = it.c.Next() // it.step, without the call
		} else {
			k, v, err = it.step()
		}
		if err != nil {
			err = s.db.wrap("scan", err)
			return
		}
		if k == nil {
			return
		}
		if debug {
			if !yieldPoisoned(yield, k, v) {
				return
			}
		} else if !yield(k, v) {
			return
		}
	}
}

// iterator returns one for a scan: that of the scan before, if there was one.
func (v *view) iterator() *Iterator {
	if it := v.free; it != nil && v.mu == nil {
		v.free = nil
		return it
	}
	return iterators.Get().(*Iterator)
}

// recycle keeps the iterator of a scan, which nobody else holds, for the next.
func (v *view) recycle(it *Iterator) {
	if v.mu == nil && v.r != nil && v.free == nil {
		v.free = it
		return
	}
	iterators.Put(it)
}

func (s *Snapshot) fail(err error) {
	s.enter()
	defer s.leave()
	if s.err == nil {
		s.err = err
	}
}

// refuse explains why a call cannot run: the snapshot has ended, or the key is empty.
func (s *Snapshot) refuse(op string) error {
	if s.r == nil {
		return s.db.wrap(op, errEnded())
	}
	return s.db.wrap(op, errEmptyKey())
}

func errEnded() error {
	return &Error{Kind: Closed, Err: errors.New("the transaction has ended"),
		Hint: "use a snapshot only inside the function it was given to, or before its Close"}
}

func errEmptyKey() error {
	return &Error{Kind: Invalid, Err: errors.New("empty key"), Hint: "keys are at least one byte long"}
}

// checkPair returns the error for a key or value that caps does not allow.
func checkPair(caps *Caps, key, value []byte) error {
	switch {
	case len(key) == 0:
		return errEmptyKey()
	case caps.MaxKey > 0 && len(key) > caps.MaxKey:
		return &Error{Kind: TooLarge, Err: fmt.Errorf("key of %d bytes, at most %d", len(key), caps.MaxKey)}
	case caps.MaxValue > 0 && len(value) > caps.MaxValue:
		return &Error{Kind: TooLarge, Err: fmt.Errorf("value of %d bytes, at most %d", len(value), caps.MaxValue)}
	}
	return nil
}
