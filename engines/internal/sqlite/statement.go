package sqlite

import "github.com/assaydb/assay/kv/driver"

// kind is what a statement does.
type kind uint8

const (
	kindBegin kind = iota
	kindRead       // a transaction that reads
	kindCommit
	kindPin
	kindGet
	kindLen
	kindPut
	kindDelete
	kindDeleteRange // by the first two parts of the shape
	kindScan        = kindDeleteRange + 4
	kinds           = kindScan + shapes
)

// The parts of a shape, which is what sort of range a statement is for.
const (
	shapeStart kind = 1 << iota
	shapeEnd
	shapeReverse
	shapeKeys
	shapes
)

// shapeOf returns the shape of r and its bounds in the order of the statement's arguments.
func shapeOf(r driver.Range) (shape kind, first, second []byte) {
	first, second = r.Start, r.End
	if first != nil {
		shape |= shapeStart
	} else {
		first, second = second, nil
	}
	if r.End != nil {
		shape |= shapeEnd
	}
	if r.Reverse {
		shape |= shapeReverse
	}
	if r.KeysOnly {
		shape |= shapeKeys
	}
	return shape, first, second
}

// statement is a prepared statement, and as a scan the cursor of it. Between runs it stays with its
// connection, so that a run allocates nothing.
type statement struct {
	Stmt
	c       *conn
	kind    kind
	columns int
	ended   bool
	next    *statement // in conn.idle
}

// start returns a statement of kind k with its arguments bound, or what went wrong. The caller
// closes it.
func (c *conn) start(k kind, a, b []byte) (*statement, int32) {
	s := c.idle[k]
	if s == nil {
		prepared, rc := c.db.Prepare(c.layout.Replace(k.text()), persistent)
		if rc = c.damaged(rc, GenericError); rc != OK {
			return nil, rc
		}
		s = &statement{Stmt: prepared, c: c, kind: k, columns: 1}
		if k >= kindScan && (k-kindScan)&shapeKeys == 0 {
			s.columns = 2
		}
	} else {
		c.idle[k] = s.next
	}
	s.ended = false
	if a != nil {
		if rc := s.Bind(a, b); rc != OK {
			s.Close()
			return nil, rc
		}
	}
	return s, OK
}

// run runs a statement that yields no rows, and returns Done or what went wrong.
func (c *conn) run(k kind, a, b []byte) int32 {
	s, rc := c.start(k, a, b)
	if rc == OK {
		_, _, rc = s.Step(0)
		s.Close()
	}
	return c.ran(rc)
}

// Next moves a scan to the next pair, which it lends from SQLite's own memory. SQLite: it holds
// until the next step.
func (s *statement) Next() (key, value []byte, err error) {
	if s.ended {
		return nil, nil, nil // SQLite: a step after the last row would start anew
	}
	key, value, rc := s.Step(s.columns)
	if rc == Row {
		return key, value, nil
	}
	s.ended = true
	if rc == Done {
		return nil, nil, nil
	}
	return nil, nil, s.c.db.Failure(rc)
}

// Close ends the run and keeps the statement for the next one.
func (s *statement) Close() error {
	s.Reset()
	s.next, s.c.idle[s.kind] = s.c.idle[s.kind], s
	return nil
}
