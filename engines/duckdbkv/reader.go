package duckdbkv

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads in the transaction of a connection.
type reader struct {
	s *store
	c *conn
}

var _ driver.Reader = (*reader)(nil)

// Get appends the value of key to dst.
func (r *reader) Get(dst, key []byte) ([]byte, error) {
	ctx := context.Background()
	s, err := r.c.statement(ctx, selectOne)
	if err != nil {
		return dst, classify(err)
	}
	var v []byte
	switch err := s.QueryRowContext(ctx, key).Scan(&v); {
	case errors.Is(err, sql.ErrNoRows):
		return dst, driver.NotFound
	case err != nil:
		return dst, classify(err)
	}
	return append(dst, v...), nil
}

// Cursor returns a cursor before the first pair of rg.
func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	return &cursor{c: r.c, rg: rg, rows: firstRows}, nil
}

// Close ends the transaction.
func (r *reader) Close() error {
	err := r.c.run(context.Background(), rollback)
	r.s.takeBack(r.c)
	return err
}

// A cursor reads a number of pairs at once, and each time more: DuckDB finds the first ones of a range by looking at all
// of it, whatever their number.
const (
	firstRows = 64
	mostRows  = 16 << 10
)

// cursor walks a range.
type cursor struct {
	c     *conn
	rg    driver.Range // what is left of it
	after []byte       // the last key that was read; nil before the first
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

// where returns the condition for the keys of rg, behind after unless that is nil, and its arguments.
func where(rg driver.Range, after []byte) (text string, args []any) {
	next := " WHERE "
	bound := func(condition string, key []byte) {
		if key != nil {
			text, args, next = text+next+condition, append(args, key), " AND "
		}
	}
	switch {
	case after == nil:
		bound("k >= ?", rg.Start)
		bound("k < ?", rg.End)
	case rg.Reverse:
		bound("k < ?", after)
		bound("k >= ?", rg.Start)
	default:
		bound("k > ?", after)
		bound("k < ?", rg.End)
	}
	return text, args
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
	text, args := where(c.rg, c.after)
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
	} else {
		c.after, c.rows = c.pairs[len(c.pairs)-1].Key, min(4*c.rows, mostRows)
	}
	return rows.Err()
}

// Close ends the walk.
func (c *cursor) Close() error { return nil }
