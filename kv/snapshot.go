package kv

import (
	"errors"
	"fmt"
	"iter"

	"github.com/assaydb/assay/kv/driver"
)

// Snapshot is a fixed state of the store. It lives as long as the function it was given to, is used by one goroutine
// at a time, and must not be kept: afterwards every method fails with Closed.
type Snapshot struct {
	r     driver.Reader
	db    *DB
	scans int   // scans that are running
	err   error // the first error of a scan; View and Update return it
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
	if s.r == nil || len(key) == 0 {
		return dst, s.refuse("get")
	}
	v, err := s.r.Get(dst, key)
	if err != nil && err != error(driver.NotFound) {
		return dst, s.db.wrap("get", err)
	}
	return v, err
}

// Has reports whether key is present.
func (s *Snapshot) Has(key []byte) (bool, error) {
	_, err := s.Append(nil, key)
	if err == error(driver.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// Scan returns the pairs of r in order. Key and value are borrowed until the next step: copy what is kept, change
// nothing. A scan that fails ends early, and View or Update then returns its error even if the function returned nil;
// Err tells it earlier. Within an Update, Put and Delete are refused while a scan is running.
func (s *Snapshot) Scan(r Range) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) { s.scan(r, yield) }
}

// Err returns the first error that ended a scan of this snapshot early, or nil.
func (s *Snapshot) Err() error { return s.err }

// scan pulls from the driver's cursor rather than handing yield to the driver: an argument of an interface method
// escapes, and with it the loop body and every variable that it uses.
func (s *Snapshot) scan(r Range, yield func(k, v []byte) bool) {
	if s.r == nil {
		s.fail(s.refuse("scan"))
		return
	}
	n, some := r.normal()
	if !some {
		return
	}
	c, err := s.r.Cursor(driver.Range(n))
	if err != nil {
		s.fail(s.db.wrap("scan", err))
		return
	}
	s.scans++
	defer func() {
		s.scans--
		if err := c.Close(); err != nil {
			s.fail(s.db.wrap("scan", err))
		}
	}()
	for {
		k, v, err := c.Next()
		if err != nil {
			s.fail(s.db.wrap("scan", err))
			return
		}
		if k == nil {
			return
		}
		if debug {
			if !yieldPoisoned(yield, k, v) {
				return
			}
			continue
		}
		if !yield(k, v) {
			return
		}
	}
}

func (s *Snapshot) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// refuse explains why a call cannot run: the snapshot has ended, or the key is empty.
func (s *Snapshot) refuse(op string) error {
	if s.r == nil {
		return &Error{Op: op, Kind: Closed, Err: errors.New("the transaction has ended"),
			Hint: "use a snapshot only inside the function it was given to"}
	}
	return s.db.wrap(op, errEmptyKey())
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
