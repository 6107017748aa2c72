package duckdbkv

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydb/assay/kv/driver"
)

// conn is one connection with its prepared statements. It is used by one goroutine at a time.
type conn struct {
	*sql.Conn
	prepared map[string]*sql.Stmt
}

const (
	createTable = "CREATE TABLE kv(k BLOB PRIMARY KEY, v BLOB NOT NULL)"
	begin       = "BEGIN TRANSACTION"
	pin         = "SELECT k FROM kv LIMIT 1" // DuckDB: a transaction sees the state of its first access, not of BEGIN
	selectOne   = "SELECT v FROM kv WHERE k = ?"
	deleteOne   = "DELETE FROM kv WHERE k = ?"
	commit      = "COMMIT"
	rollback    = "ROLLBACK"
)

// statement returns the prepared form of text.
func (c *conn) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	if s := c.prepared[text]; s != nil {
		return s, nil
	}
	s, err := c.PrepareContext(ctx, text)
	if err == nil {
		c.prepared[text] = s
	}
	return s, err
}

// run runs a statement and drops its rows.
func (c *conn) run(ctx context.Context, text string, args ...any) error {
	s, err := c.statement(ctx, text)
	if err == nil {
		_, err = s.ExecContext(ctx, args...)
	}
	if err = classify(err); driver.KindOf(err) == driver.Canceled && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (c *conn) close() error {
	var err error
	for _, s := range c.prepared {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, c.Close())
}
