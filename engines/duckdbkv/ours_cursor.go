package duckdbkv

import (
	"context"
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
	c     *conn
	rg    driver.Range // what is left of it
	rows  int          // how many to read next; 0 after the last
	pairs []driver.Op  // read, and not lent yet
}

var _ driver.Cursor = (*cursor)(nil)

// Next moves to the next pair.
func (c *cursor) Next() (key, value []byte, err error) {
	if len(c.pairs) == 0 {
		if err := c.read(context.Background()); err != nil || len(c.pairs) == 0 {
			return nil, nil, classify(err)
		}
	}
	p := c.pairs[0]
	c.pairs = c.pairs[1:]
	return p.Key, p.Value, nil
}

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

// read fetches the next pairs.
func (c *cursor) read(ctx context.Context) error {
	if c.rows == 0 {
		return nil
	}
	text, args := c.query()
	s, err := c.c.statement(ctx, text)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	c.pairs = c.pairs[:0]
	for rows.Next() {
		var p driver.Op
		if err := rows.Scan(&p.Key, &p.Value); err != nil {
			return err
		}
		c.pairs = append(c.pairs, p)
	}
	if len(c.pairs) < c.rows {
		c.rows = 0
		return rows.Err()
	}
	c.rows = min(4*c.rows, mostRows)
	if last := c.pairs[len(c.pairs)-1].Key; c.rg.Reverse {
		c.rg.End = last
	} else {
		c.rg.Start = append(last[:len(last):len(last)], 0)
	}
	return rows.Err()
}

// Close ends the walk.
func (c *cursor) Close() error { return nil }
