package kv

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/assaydb/assay/kv/driver"
)

// Snapshot is a fixed state of the store.
//
// One that [DB.View] or [DB.Update] gave to a function lives as long as that function and is used
// by one goroutine at a time. One that [DB.Snapshot] returned lives until Close and may be used by
// several goroutines, which take turns. After its end every method fails with Closed. It is not to
// be copied.
type Snapshot struct {
	_ [0]sync.Mutex // so that go vet finds copies
	*view
	db *DB
}

// view is what a Snapshot shares with its namespaces.
type view struct {
	r       driver.Reader   // nil after the end
	ctx     context.Context // ends running scans
	mu      *sync.Mutex     // of a view that outlives a function, nil of others
	open    *Iterator       // the first of those that are open
	err     error           // the first error of a scan; View and Update return it
	lent    bool            // to a namespace
	scratch []byte          // for values that are not kept
	key     []byte          // of a namespace, with its prefix
	free    *Iterator       // of a scan that is over, for the next; its cursor until something is written
	life    *span           // of a view that the program holds
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

// done is leave of a call that had a span.
func (v *view) done(sp *span, err *error) {
	sp.end(*err)
	v.leave()
}

// end closes what is still open, and the reader. That something was open is an error.
func (v *view) end() error {
	left := 0
	for v.open != nil {
		left++
		v.open.shut()
	}
	err := v.keepNone()
	if cerr := v.r.Close(); err == nil {
		err = cerr
	}
	v.r = nil
	if left > 0 {
		err = errors.Join(err, refusal(Invalid,
			"end loops, call the stop function of iter.Pull2, close iterators before the transaction ends",
			"%d scans or iterators were still open at the end", left))
	}
	v.life.end(err)
	return err
}

// keepNone closes the cursor that is kept.
func (v *view) keepNone() (err error) {
	if v.free != nil && v.free.c != nil {
		err = v.free.c.Close()
		v.free.walk = walk{}
	}
	return err
}

// Close ends a snapshot that [DB.Snapshot] returned. Closing again does nothing. View and Update
// end their own.
func (s *Snapshot) Close() error {
	if s.mu == nil {
		return s.db.wrap("close", refusal(Invalid, "close only what DB.Snapshot returned",
			"a View or Update ends its snapshot itself"))
	}
	s.enter()
	defer s.leave()
	if s.r == nil {
		return nil
	}
	s.db.drop(s.view)
	return s.db.wrap("close", errors.Join(s.err, s.view.end()))
}

// plain reports whether nothing stands between a call and the engine: no lock, no tracer.
func (s *Snapshot) plain() bool { return s.mu == nil && s.db.tracer == nil }

// call runs do within enter and a span. What it returns has no operation yet.
func (s *Snapshot) call(op string, do func(sp *span) error) (err error) {
	_, sp := startSpan(s.ctx, s.db.tracer, Event{Op: op})
	s.enter()
	defer s.done(sp, &err)
	return do(sp)
}

// Get returns a copy of the value of key. An absent key is NotFound.
func (s *Snapshot) Get(key []byte) ([]byte, error) {
	v, err := s.Append(nil, key)
	if v == nil && err == nil {
		v = []byte{}
	}
	return v, err
}

// Append appends the value of key to dst and returns the extended slice; it allocates only if dst
// is too short. An absent key returns dst and NotFound.
func (s *Snapshot) Append(dst, key []byte) (v []byte, err error) {
	if s.plain() {
		return s.append(dst, key)
	}
	var sp span // not by call: it would be allocated
	sp.begin(s.ctx, s.db.tracer, Event{Op: "get"})
	s.enter()
	defer s.done(&sp, &err)
	if v, err = s.append(dst, key); err == nil {
		sp.pair(key, v[len(dst):])
	}
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

// Len returns the length of the value of key in bytes. An absent key is NotFound. Engines that can
// tell it without reading the value do.
func (s *Snapshot) Len(key []byte) (n int, err error) {
	err = s.call("len", func(*span) (err error) {
		if s.r == nil || len(key) == 0 {
			return s.refuse("len")
		}
		if l, ok := s.r.(driver.Lener); ok {
			n, err = l.Len(s.full(key))
		} else {
			s.scratch, err = s.r.Get(s.scratch[:0], s.full(key))
			n = len(s.scratch)
		}
		if err != nil && err != error(driver.NotFound) {
			return s.db.wrap("len", err)
		}
		return err
	})
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

// Scan returns the pairs of r in order. Key and value are borrowed until the next step: copy what
// is kept, change nothing. A scan that fails, or whose context has ended, ends early, and View or
// Update then returns its error even if the function returned nil; Err tells it earlier. Within an
// Update, writes are refused while a scan is running; one that a panic left runs until the snapshot
// ends, and is an error then.
//
// The function is free of defer, and calls yield in one place: so it becomes a part of the
// caller's, and the loop's body a part of it, at no call for a pair.
func (s *Snapshot) Scan(r Range) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		it := s.scan(&r)
		n := len(s.db.prefix)
	walk:
		for it.more() {
			for i := 0; i < len(it.pairs); i++ { // none are left once a snapshot ends that a coroutine scans
				if p := &it.pairs[i]; !lend(yield, p.Key[n:], p.Value) {
					break walk
				}
			}
		}
		it.end()
	}
}

// Keys returns the keys of r in order, as Scan does the pairs.
func (s *Snapshot) Keys(r Range) iter.Seq[[]byte] {
	r.KeysOnly = true
	return func(yield func(k []byte) bool) { s.Scan(r)(func(k, _ []byte) bool { return yield(k) }) }
}

// Each gives the pairs of r in order to do, which borrows them as from Scan, until do returns an
// error. A key that does not come behind the one before it is Corrupt: in a damaged file pages may
// lead in a circle, and a Scan of it never ends.
func (s *Snapshot) Each(r Range, do func(k, v []byte) error) error {
	var last []byte
	for k, v := range s.Scan(r) {
		if c := bytes.Compare(last, k); last != nil && (c == 0 || c > 0 != r.Reverse) {
			return s.db.wrap("scan", refusal(Corrupt, "restore a backup", "key %q stands behind %q", k, last))
		}
		last = append(last[:0], k...)
		if err := do(k, v); err != nil {
			return err
		}
	}
	return s.Err()
}

// Err returns the first error that ended a scan of this snapshot early, or nil; after the end of
// the snapshot, Closed.
func (s *Snapshot) Err() error {
	s.enter()
	defer s.leave()
	if s.err == nil && s.r == nil {
		return s.refuse("scan")
	}
	return s.err
}

// DB returns the store, or the namespace, that s is a state of.
func (s *Snapshot) DB() *DB { return s.db }

// Namespace returns a view of s that holds only the keys beginning with prefix, shown without it.
// It ends with s, and is used like it.
func (s *Snapshot) Namespace(prefix []byte) *Snapshot {
	s.enter()
	defer s.leave()
	if s.r != nil {
		s.lent = true
	}
	return &Snapshot{view: s.view, db: s.db.Namespace(prefix)}
}

// full returns key as the engine knows it. It holds until the next call.
func (s *Snapshot) full(key []byte) []byte {
	if len(s.db.prefix) == 0 {
		return key
	}
	s.key = append(append(s.key[:0], s.db.prefix...), key...)
	return s.key
}

// scan begins a scan, with the iterator of the scan before, if there was one. A scan pulls from the
// driver's cursor rather than handing yield to the driver: an argument of an interface method
// escapes, and with it the loop body and every variable that it uses.
func (s *Snapshot) scan(r *Range) *Iterator {
	var it *Iterator
	if s.mu != nil || s.free == nil { // where mu is, only the cursor serves again, to one who has it
		it = &Iterator{scan: true}
	} else {
		it = s.free
	}
	it.steps, it.err = 0, it.init(s, r)
	return it
}

// end ends a scan, keeps its error, and keeps the iterator, which nobody else holds, for the next.
func (it *Iterator) end() {
	s, err := it.s, it.err
	if cerr := it.close(); err == nil {
		err = cerr
	}
	if err != nil {
		s.fail(s.db.wrap("scan", err))
	}
	if s.mu == nil && s.r != nil && s.free == nil {
		s.free = it
	}
}

// fail keeps the first error, of a scan for instance, that View and Update return.
func (s *Snapshot) fail(err error) {
	s.enter()
	defer s.leave()
	if s.err == nil && s.r != nil {
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
	return refusal(Closed, "use a snapshot only inside the function it was given to, or before its Close",
		"the transaction has ended")
}

func errEmptyKey() error { return refusal(Invalid, "keys are at least one byte long", "empty key") }

// checkPair returns the error for a key or value that caps does not allow.
func checkPair(caps *Caps, key, value []byte) error {
	switch {
	case len(key) == 0:
		return errEmptyKey()
	case caps.MaxKey > 0 && len(key) > caps.MaxKey:
		return refusal(TooLarge, "", "key of %d bytes, at most %d", len(key), caps.MaxKey)
	case caps.MaxValue > 0 && len(value) > caps.MaxValue:
		return refusal(TooLarge, "", "value of %d bytes, at most %d", len(value), caps.MaxValue)
	}
	return nil
}
