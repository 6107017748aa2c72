package sqlite

import "github.com/assaydb/assay/kv/driver"

// reader reads on the connection that it is part of: a snapshot while the statement kindPin is running, or the
// transaction that is open.
type reader struct {
	c *conn
	s *Store
}

var _ driver.Reader = (*reader)(nil)

// pin opens a snapshot of the last committed state.
func (r *reader) pin(w *waiter) error {
	for {
		err := r.tryPin()
		if err == nil {
			return nil
		}
		if driver.KindOf(err) != driver.Busy || !w.wait() {
			return w.failure(err)
		}
	}
}

// tryPin is pin without waiting. Of an empty database there is no snapshot, and that is no error.
func (r *reader) tryPin() error {
	s, rc := r.c.step(kindPin, nil, nil)
	if rc == Row {
		return nil
	}
	var err error
	if rc != Done {
		err = r.c.db.Failure(rc)
	}
	if s != nil {
		s.Reset()
	}
	return err
}

// unpin ends the snapshot.
func (r *reader) unpin() {
	if s := r.c.stmts[kindPin]; s != nil {
		s.Reset()
	}
}

// Get appends the value of key to dst.
func (r *reader) Get(dst, key []byte) ([]byte, error) {
	s, rc := r.c.step(kindGet, key, nil)
	var v []byte
	switch rc {
	case Row:
		if v, rc = s.Column(0); rc == OK {
			dst = append(dst, v...)
			s.Reset()
			return dst, nil
		}
	case Done:
		s.Reset()
		return dst, driver.NotFound
	}
	err := r.c.db.Failure(rc)
	if s != nil {
		s.Reset()
	}
	return dst, err
}

// Cursor returns a cursor before the first pair of rg.
func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) { return r.c.cursor(rg) }

// Close ends the snapshot.
func (r *reader) Close() error {
	r.unpin()
	return r.s.release(r.c)
}
