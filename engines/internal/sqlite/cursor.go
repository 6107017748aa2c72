package sqlite

import "github.com/assaydb/assay/kv/driver"

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
		s, rc := c.db.Prepare(c.layout.scan(shape), true)
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

// Next moves to the next pair.
func (cur *cursor) Next() (key, value []byte, err error) {
	if cur.ended {
		return nil, nil, nil // SQLite: a step after the last row would start anew
	}
	rc := cur.stmt.Step()
	if rc == Row {
		if key, rc = cur.stmt.Column(0); rc == OK && cur.shape&shapeKeys == 0 {
			value, rc = cur.stmt.Column(1)
		}
		if rc == OK {
			cur.key, cur.value = append(cur.key[:0], key...), append(cur.value[:0], value...)
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
