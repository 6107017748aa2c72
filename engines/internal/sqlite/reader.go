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
		s, rc := r.c.step(kindPin, nil, nil)
		if rc == Row {
			return nil
		}
		if s != nil {
			s.Reset()
		}
		if !busy(rc) || !w.wait() {
			return w.failure(r.c.db.Failure(rc))
		}
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
	r.c.stmts[kindPin].Reset()
	return r.s.release(r.c)
}
