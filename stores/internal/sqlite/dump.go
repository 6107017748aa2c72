package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// Querier is a connection, a pool of them or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// HasTable reports whether the database of q has a table of that name.
func HasTable(ctx context.Context, q Querier, name string) (has bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?`, name).Scan(&has)
	return has, err
}

// Format returns the column format of the one row of a table; 0 of a database without that table.
func Format(ctx context.Context, q Querier, table string) (format int, err error) {
	has, err := HasTable(ctx, q, table)
	if err == nil && has {
		err = q.QueryRowContext(ctx, `SELECT format FROM `+table).Scan(&format)
	}
	return format, err
}

// Each gives fn an item like p for each row of a query, whose columns go to fields.
func Each[P any](ctx context.Context, q Querier, p P, fields func(*P) []any, fn func(*P) error, query string,
	args ...any) (err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		item := p
		if err := rows.Scan(fields(&item)...); err != nil {
			return err
		}
		if err := fn(&item); err != nil {
			return err
		}
	}
	return rows.Err()
}
