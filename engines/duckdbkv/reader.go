package duckdbkv

import (
	"context"
	"database/sql"
	"errors"

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

// where returns the condition for the keys of rg and its arguments.
func where(rg driver.Range) (text string, args []any) {
	next := " WHERE "
	if rg.Start != nil {
		text, args, next = next+"k >= ?", append(args, rg.Start), " AND "
	}
	if rg.End != nil {
		text, args = text+next+"k < ?", append(args, rg.End)
	}
	return text, args
}
