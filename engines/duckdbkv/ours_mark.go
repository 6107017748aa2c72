package duckdbkv

import (
	"context"
	"fmt"

	"github.com/assaydb/assay/kv/driver"
)

// identify makes an empty database a store, and refuses one of another program.
func (s *store) identify(ctx context.Context) error {
	var tables string // DuckDB: of no rows string_agg is NULL
	err := s.db.QueryRowContext(ctx, "SELECT coalesce(string_agg(table_name, ', ' ORDER BY 1), '') FROM duckdb_tables() "+
		"WHERE database_name = 'store'").Scan(&tables)
	switch {
	case err != nil:
	case tables == "":
		_, err = s.db.ExecContext(ctx, createTable)
	case tables == "kv":
		_, err = s.db.ExecContext(ctx, pin)
	default:
		err = &driver.Error{Kind: driver.Invalid,
			Err:  fmt.Errorf("the DuckDB database of another program: tables %s", tables),
			Hint: "name another file"}
	}
	return err
}
