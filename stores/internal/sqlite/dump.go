package sqlite

import (
	"cmp"
	"context"
	"database/sql"
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
	args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	return Rows(rows, err, func() error {
		item := p
		if err := rows.Scan(fields(&item)...); err != nil {
			return err
		}
		return fn(&item)
	})
}

// Rows calls at with each row of a query, which ended with err, and closes them.
func Rows(rows *sql.Rows, err error, at func() error) error {
	if err != nil {
		return err
	}
	for err == nil && rows.Next() {
		err = at()
	}
	return cmp.Or(err, rows.Err(), rows.Close())
}
