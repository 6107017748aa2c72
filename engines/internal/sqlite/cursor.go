package sqlite

import "github.com/assaydb/assay/kv/driver"

// shapes is the number of different scans: with a start or not, with an end or not, reverse or not.
const shapes = 8

const (
	shapeStart = 1 << iota
	shapeEnd
	shapeReverse
)

var scans = func() (sql [shapes]string) {
	where := [4]string{
		0:                     "",
		shapeStart:            " WHERE k >= ?1",
		shapeEnd:              " WHERE k < ?1",
		shapeStart | shapeEnd: " WHERE k >= ?1 AND k < ?2",
	}
	for shape := range sql {
		sql[shape] = "SELECT k, v FROM kv" + where[shape&(shapeStart|shapeEnd)] + " ORDER BY k"
		if shape&shapeReverse != 0 {
			sql[shape] += " DESC"
		}
	}
	return sql
}()

// cursor is one running scan. Closed cursors stay with their connection, statement and buffers included, so that a
// scan of the same shape allocates nothing.
type cursor struct {
	c          *conn
	stmt       Stmt
	shape      int
	key, value []byte // what Next lent: copies, because SQLite's own memory is part of its page cache
	ended      bool
	next       *cursor // in conn.cursors
}

var _ driver.Cursor = (*cursor)(nil)

// keptValue is how large a buffer a closed cursor keeps.
const keptValue = 64 << 10

// cursor returns a cursor before the first pair of r.
func (c *conn) cursor(r driver.Range) (driver.Cursor, error) {
	shape, first, second := shapeOf(r)
	cur := c.cursors[shape]
	if cur == nil {
		s, rc := c.db.Prepare(scans[shape], true)
		if rc != OK {
			return nil, c.db.Failure(rc)
		}
		cur = &cursor{c: c, stmt: s, shape: shape}
	} else {
		c.cursors[shape] = cur.next
	}
	cur.ended = false
	if first != nil {
		if rc := cur.stmt.Bind(first, second); rc != OK {
			err := c.db.Failure(rc)
			cur.Close()
			return nil, err
		}
	}
	return cur, nil
}

// shapeOf returns the shape of r and its bounds in the order of the statement's arguments.
func shapeOf(r driver.Range) (shape int, first, second []byte) {
	if r.Reverse {
		shape = shapeReverse
	}
	switch {
	case r.Start != nil && r.End != nil:
		return shape | shapeStart | shapeEnd, r.Start, r.End
	case r.Start != nil:
		return shape | shapeStart, r.Start, nil
	case r.End != nil:
		return shape | shapeEnd, r.End, nil
	}
	return shape, nil, nil
}

// Next moves to the next pair.
func (cur *cursor) Next() (key, value []byte, err error) {
	if cur.ended {
		return nil, nil, nil // SQLite: a step after the last row would start anew
	}
	rc := cur.stmt.Step()
	if rc == Row {
		var k, v []byte
		if k, rc = cur.stmt.Column(0); rc == OK {
			v, rc = cur.stmt.Column(1)
		}
		if rc == OK {
			cur.key, cur.value = append(cur.key[:0], k...), append(cur.value[:0], v...)
			return cur.key, cur.value, nil
		}
	}
	cur.ended = true
	if rc == Done {
		return nil, nil, nil
	}
	return nil, nil, cur.c.db.Failure(rc)
}

// Close ends the scan and keeps the cursor for the next one.
func (cur *cursor) Close() error {
	cur.stmt.Reset()
	if cap(cur.value) > keptValue {
		cur.value = nil
	}
	cur.next = cur.c.cursors[cur.shape]
	cur.c.cursors[cur.shape] = cur
	return nil
}
