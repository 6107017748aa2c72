package duckdbkv

import (
	"context"
	"fmt"

	"github.com/assaydb/assay/kv/driver"
)

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
