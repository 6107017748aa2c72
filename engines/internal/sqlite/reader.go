package sqlite

import (
	"strconv"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads on the connection that it is part of: a snapshot while the statement kindPin is running, or the
// transaction that is open.
type reader struct {
	c *conn
	s *Store
}

var (
	_ driver.Reader = (*reader)(nil)
	_ driver.Lener  = (*reader)(nil)
)

// pin opens a snapshot of the last committed state.
func (r *reader) pin() error {
	s, rc := r.c.step(kindPin, nil, nil)
	if rc == Row {
		return nil
	}
	err := r.c.db.Failure(rc)
	if s != nil {
		s.Reset()
	}
	return err
}

// Get appends the value of key to dst.
func (r *reader) Get(dst, key []byte) ([]byte, error) {
	s, rc := r.c.step(kindGet, key, nil)
	if rc == Row {
		var v []byte
		if v, rc = s.Column(0); rc == OK {
			dst = append(dst, v...)
			s.Reset()
			return dst, nil
		}
	}
	return dst, r.absent(s, rc)
}

// Len tells the length of the value of key. SQLite: it stands in the row's header, so the value is not read.
func (r *reader) Len(key []byte) (int, error) {
	s, rc := r.c.step(kindLen, key, nil)
	if rc == Row {
		var v []byte
		if v, rc = s.Column(0); rc == OK {
			n, err := 0, error(nil)
			if len(v) > 0 { // a NULL in another program's table has none
				n, err = strconv.Atoi(string(v))
			}
			s.Reset()
			return n, err
		}
	}
	return 0, r.absent(s, rc)
}

// absent ends a statement that yielded no row, and tells why.
func (r *reader) absent(s Stmt, rc int32) error {
	err := error(driver.NotFound)
	if rc != Done {
		err = r.c.db.Failure(rc)
	}
	if s != nil {
		s.Reset()
	}
	return err
}

// Cursor returns a cursor before the first pair of rg.
func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) { return r.c.cursor(rg) }

// Close ends the snapshot.
func (r *reader) Close() error {
	r.c.stmts[kindPin].Reset()
	return r.s.takeBack(r.c, readers)
}
