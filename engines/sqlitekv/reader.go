package sqlitekv

import (
	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/kv/driver"
)

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
		if rc == lib.SQLITE_ROW {
			return nil
		}
		if s.handle != 0 {
			s.reset(r.c)
		}
		if !busy(rc) || !w.wait() {
			return w.failure(r.c.failure(rc))
		}
	}
}

// Get appends the value of key to dst.
func (r *reader) Get(dst, key []byte) ([]byte, error) {
	s, rc := r.c.step(kindGet, key, nil)
	var v []byte
	switch rc {
	case lib.SQLITE_ROW:
		if v, rc = s.column(r.c, 0); rc == lib.SQLITE_OK {
			dst = append(dst, v...)
			s.reset(r.c)
			return dst, nil
		}
	case lib.SQLITE_DONE:
		s.reset(r.c)
		return dst, driver.NotFound
	}
	err := r.c.failure(rc)
	if s.handle != 0 {
		s.reset(r.c)
	}
	return dst, err
}

// Cursor returns a cursor before the first pair of rg.
func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) { return r.c.cursor(rg) }

// Close ends the snapshot.
func (r *reader) Close() error {
	r.c.stmts[kindPin].reset(r.c)
	return r.s.release(r.c)
}
