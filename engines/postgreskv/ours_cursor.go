package postgreskv

import (
	"bytes"
	"fmt"

	"github.com/assaydb/assay/kv/driver"
)

// cursor is several queries, of which each goes on behind the one before.
type cursor struct {
	r     *reader
	rg    driver.Range
	last  []byte // the last key that was read, nil before the first
	size  int    // how many pairs to read next
	ahead driver.Ahead
	done  bool
}

var (
	_ driver.Chunker = (*cursor)(nil)
	_ driver.Seeker  = (*cursor)(nil)
)

// How much is read at once: few pairs first, then more, as long as they are not large.
const (
	firstPairs = 8
	mostPairs  = 1024
	mostBytes  = 1 << 20
)

// Next returns the next pair.
func (c *cursor) Next() (key, value []byte, err error) { return c.ahead.Next(c.Chunk) }

// Chunk reads the next pairs.
func (c *cursor) Chunk() (pairs []driver.Pair, err error) {
	if c.done {
		return nil, nil
	}
	if err := c.r.ready(); err != nil {
		return nil, err
	}
	text, args := c.query()
	rows, err := c.r.conn.Query(c.r.ctx, text, args...)
	if err != nil {
		return nil, c.r.failed(err)
	}
	defer rows.Close()
	size := 0
	for rows.Next() {
		p := driver.Pair{}
		fields := []any{&p.Key, &p.Value}
		if c.rg.KeysOnly {
			fields = fields[:1]
		}
		if err := rows.Scan(fields...); err != nil {
			return nil, c.r.failed(err)
		}
		size += len(p.Key) + len(p.Value)
		pairs = append(pairs, p)
	}
	if err := rows.Err(); err != nil {
		return nil, c.r.failed(err)
	}
	if len(pairs) < c.size {
		c.done = true
	}
	if len(pairs) > 0 {
		c.last = pairs[len(pairs)-1].Key
		c.size = max(1, min(4*c.size, mostPairs, mostBytes*len(pairs)/(size+1)))
	}
	return pairs, nil
}

// query returns the text for the next pairs.
func (c *cursor) query() (text string, args []any) {
	columns, order := "k, v", ""
	if c.rg.KeysOnly {
		columns = "k"
	}
	start, end := c.rg.Start, c.rg.End
	switch {
	case c.rg.Reverse:
		order = " DESC"
		if c.last != nil {
			end = c.last
		}
	case c.last != nil:
		start = append(bytes.Clone(c.last), 0) // the key after it
	}
	where, args := c.r.s.where(start, end)
	args = append(args, c.size)
	return fmt.Sprintf("SELECT %s FROM %s%s ORDER BY k%s LIMIT $%d", columns, c.r.s.table, where, order, len(args)), args
}

// Seek moves the cursor.
func (c *cursor) Seek(key []byte) error {
	c.ahead, c.done, c.size, c.last = nil, false, firstPairs, nil
	if c.rg.Reverse {
		c.last = append(bytes.Clone(key), 0) // key itself is before it
		return nil
	}
	c.rg.Start = bytes.Clone(key)
	return nil
}

// Close ends the walk.
func (c *cursor) Close() error { return nil }
