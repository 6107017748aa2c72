package sqlite

import (
	"errors"
	"strconv"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads on the connection that it is part of: a snapshot while pinned is running, or the
// transaction that is open.
type reader struct {
	c      *conn
	s      *Store
	pinned *statement
	uses   int
	begun  bool
}

var _ driver.Lener = (*reader)(nil)

// pin opens a snapshot of the last committed state. There is always a row to stop at, that of the
// table.
func (r *reader) pin() error {
	s, rc := r.c.start(kindPin, nil, nil)
	if rc == OK {
		if _, _, rc = s.Step(0); rc == Row {
			r.pinned, r.uses = s, 0
			return nil
		}
		s.Close()
	}
	return r.c.db.Failure(r.c.damaged(rc, Done))
}

// manyUses is after how many a snapshot gets a transaction around it. SQLite: outside of one, every
// query ends with a look at the locks; but a transaction is two statements more.
const manyUses = 4

// used counts the queries of a snapshot.
func (r *reader) used() {
	if r.uses++; r.uses == manyUses && r.pinned != nil {
		if r.begun = r.c.run(kindRead, nil, nil) == Done; r.begun {
			r.pinned.Reset()
		}
	}
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
	r.used()
	s, rc := r.c.start(k, key, nil)
	if rc == OK {
		var v []byte
		if v, _, rc = s.Step(1); rc == Row {
			dst = append(dst, v...)
		}
		s.Close()
	}
	switch rc {
	case Row:
		return dst, nil
	case Done:
		return dst, driver.NotFound
	}
	return dst, r.c.db.Failure(rc)
}

// Cursor returns a cursor before the first pair of rg.
func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	r.used()
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
	r.pinned = nil
	if !r.begun {
		return r.s.takeBack(r.c, readers)
	}
	r.begun = false
	if rc := r.c.run(kindCommit, nil, nil); rc != Done {
		return errors.Join(r.c.db.Failure(rc), r.c.drop())
	}
	return r.s.takeBack(r.c, readers)
}
