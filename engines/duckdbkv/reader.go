package duckdbkv

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads in a transaction.
type reader struct {
	s  *store
	tx *sql.Tx
}

const (
	createTable = "CREATE TABLE kv(k BLOB PRIMARY KEY, v BLOB NOT NULL)"
	pin         = "SELECT k FROM kv LIMIT 1" // DuckDB: a transaction sees the state of its first access, not of BEGIN
	selectOne   = "SELECT v FROM kv WHERE k = ?"
	deleteOne   = "DELETE FROM kv WHERE k = ?"
)

// statement returns the prepared form of text. database/sql prepares it once for each connection.
func (r *reader) statement(text string) (*sql.Stmt, error) {
	prepared, ok := r.s.prepared.Load(text)
	if !ok {
		s, err := r.s.db.Prepare(text)
		if err != nil {
			return nil, err
		}
		prepared, _ = r.s.prepared.LoadOrStore(text, s)
	}
	return r.tx.Stmt(prepared.(*sql.Stmt)), nil
}

// run runs a statement and drops its rows, unless ctx has ended. It does not end amid that with
// ctx: what duckdb-go interrupts returns half a second later, which is longer than it takes.
func (r *reader) run(ctx context.Context, text string, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s, err := r.statement(text)
	if err == nil {
		_, err = s.Exec(args...)
	}
	return classify(err)
}

// Get appends the value of key to dst.
func (r *reader) Get(dst, key []byte) ([]byte, error) {
	s, err := r.statement(selectOne)
	if err != nil {
		return dst, classify(err)
	}
	var v []byte
	switch err := s.QueryRow(key).Scan(&v); {
	case errors.Is(err, sql.ErrNoRows):
		return dst, driver.NotFound
	case err != nil:
		return dst, classify(err)
	}
	return append(dst, v...), nil
}

// Cursor returns a cursor before the first pair of rg.
func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	return &cursor{r: r, rg: rg, rows: firstRows}, nil
}

// Close rolls back, unless a commit has ended the transaction.
func (r *reader) Close() error {
	if err := r.tx.Rollback(); err != sql.ErrTxDone {
		return classify(err)
	}
	return nil
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
