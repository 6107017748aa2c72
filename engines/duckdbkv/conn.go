package duckdbkv

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

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

// rowsAtOnce is how many pairs one statement of a batch writes.
const rowsAtOnce = 256

// insert returns the statement that puts n pairs.
func insert(n int) string {
	return "INSERT INTO kv(k, v) VALUES " + strings.Repeat("(?, ?), ", n-1) + "(?, ?) " +
		"ON CONFLICT(k) DO UPDATE SET v = excluded.v"
}

// identify makes an empty database a store, and refuses one of another program.
func (c *conn) identify(ctx context.Context) error {
	var tables string // DuckDB: of no rows string_agg is NULL
	err := c.QueryRowContext(ctx, "SELECT coalesce(string_agg(table_name, ', ' ORDER BY 1), '') FROM duckdb_tables() "+
		"WHERE database_name = 'store'").Scan(&tables)
	if err != nil {
		return err
	}
	switch {
	case tables == "":
		_, err := c.ExecContext(ctx, createTable)
		return err
	case tables == "kv":
		return c.run(ctx, pin)
	}
	return &driver.Error{Kind: driver.Invalid,
		Err:  fmt.Errorf("the DuckDB database of another program: tables %s", tables),
		Hint: "name another file"}
}

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

// put writes pairs whose keys differ.
func (c *conn) put(ctx context.Context, pairs []driver.Op) error {
	for len(pairs) > 0 {
		n := rowsAtOnce
		if len(pairs) < n {
			n = 1
		}
		args := make([]any, 0, 2*n)
		for i := range pairs[:n] {
			args = append(args, pairs[i].Key, notNil(pairs[i].Value))
		}
		if err := c.run(ctx, insert(n), args...); err != nil {
			return err
		}
		pairs = pairs[n:]
	}
	return nil
}

// notNil makes an empty value of a missing one: nil is NULL.
func notNil(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.prepared {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.Close())...)
}
