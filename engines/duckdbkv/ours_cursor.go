package duckdbkv

import (
	"fmt"

	"github.com/assaydb/assay/kv/driver"
)

// A cursor reads a number of pairs at once, and each time more: DuckDB finds the first ones of a
// range by looking at all of it, whatever their number.
const (
	firstRows = 64
	mostRows  = 16 << 10
)

// cursor walks a range.
type cursor struct {
	driver.Ahead
	r     *reader
	rg    driver.Range // what is left of it
	rows  int          // how many to read next; 0 after the last
	pairs []driver.Pair
}

var _ driver.Cursor = (*cursor)(nil)

// Next moves to the next pair.
func (c *cursor) Next() (key, value []byte, err error) { return c.Ahead.Next(c.Chunk) }

// query returns the statement for the next pairs and its arguments.
func (c *cursor) query() (string, []any) {
	columns, order := "k, v", "k"
	if c.rg.KeysOnly {
		columns = "k, NULL"
	}
	if c.rg.Reverse {
		order = "k DESC"
	}
	text, args := where(c.rg)
	return fmt.Sprintf("SELECT %s FROM kv%s ORDER BY %s LIMIT %d", columns, text, order, c.rows), args
}

// Chunk fetches the next pairs.
func (c *cursor) Chunk() ([]driver.Pair, error) {
	if c.rows == 0 {
		return nil, nil
	}
	text, args := c.query()
	s, err := c.r.statement(text)
	if err != nil {
		return nil, classify(err)
	}
	rows, err := s.Query(args...)
	if err != nil {
		return nil, classify(err)
	}
	defer rows.Close()
	c.pairs = c.pairs[:0]
	for rows.Next() {
		var p driver.Pair
		if err := rows.Scan(&p.Key, &p.Value); err != nil {
			return nil, classify(err)
		}
		c.pairs = append(c.pairs, p)
	}
	if len(c.pairs) < c.rows {
		c.rows = 0
		return c.pairs, classify(rows.Err())
	}
	c.rows = min(4*c.rows, mostRows)
	if last := c.pairs[len(c.pairs)-1].Key; c.rg.Reverse {
		c.rg.End = last
	} else {
		c.rg.Start = append(last[:len(last):len(last)], 0)
	}
	return c.pairs, classify(rows.Err())
}

// Close ends the walk.
func (c *cursor) Close() error { return nil }
