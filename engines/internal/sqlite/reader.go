package sqlite

import (
	"strconv"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads on the connection that it is part of: a snapshot while pinned is running, or the
// transaction that is open.
type reader struct {
	c      *conn
	s      *Store
	pinned *statement
}

var (
	_ driver.Reader = (*reader)(nil)
	_ driver.Lener  = (*reader)(nil)
)

// pin opens a snapshot of the last committed state. There is always a row to stop at, that of the table.
func (r *reader) pin() error {
	s, rc := r.c.start(kindPin, nil, nil)
	if rc == OK {
		if rc = s.Step(); rc == Row {
			r.pinned = s
			return nil
		}
		s.Close()
	}
	return r.c.db.Failure(rc)
}

// Get appends the value of key to dst.
func (r *reader) Get(dst, key []byte) ([]byte, error) { return r.get(kindGet, dst, key) }

// Len tells the length of the value of key, which SQLite finds in the row's header.
func (r *reader) Len(key []byte) (int, error) {
	var digits [20]byte
	n, err := r.get(kindLen, digits[:0], key)
	if err != nil || len(n) == 0 { // a NULL in another program's table has no length
		return 0, err
	}
	return strconv.Atoi(string(n))
}

// get appends what the statement of kind k finds for key.
func (r *reader) get(k kind, dst, key []byte) ([]byte, error) {
	s, rc := r.c.start(k, key, nil)
	if rc == OK {
		if rc = s.Step(); rc == Row {
			var v []byte
			if v, rc = s.Column(0); rc == OK {
				dst = append(dst, v...)
			}
		}
		s.Close()
	}
	switch rc {
	case OK:
		return dst, nil
	case Done:
		return dst, driver.NotFound
	}
	return dst, r.c.db.Failure(rc)
}

// Cursor returns a cursor before the first pair of rg.
func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	shape, first, second := shapeOf(rg)
	s, rc := r.c.start(kindScan+shape, first, second)
	if rc != OK {
		return nil, r.c.db.Failure(rc)
	}
	return s, nil
}

// Close ends the snapshot.
func (r *reader) Close() error {
	r.pinned.Close()
	return r.s.takeBack(r.c, readers)
}
