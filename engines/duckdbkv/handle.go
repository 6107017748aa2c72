package duckdbkv

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Open opens or creates the database at path; nil options are DuckDB's defaults. It is kv.Open with
// Go's types in place of a URL.
func Open(ctx context.Context, path string, o *Options, options ...kv.Option) (*kv.DB, error) {
	if o == nil {
		o = new(Options)
	}
	return kv.OpenDriver(ctx, Driver{}, driver.Config{Path: path, Params: o.given()}, options...)
}

// Wrap makes a store of the table kv in the default database of h, which is created if it is
// missing; one of another shape is refused. h stays the program's: closing the store does not close
// it, and must come first. The program may use h for all else, and write to the table between
// transactions of the store, which takes itself for the only writer. A database in memory is lost
// with the process.
func Wrap(h *sql.DB, options ...kv.Option) (*kv.DB, error) {
	path, err := lookInto(h)
	if err != nil {
		return nil, &kv.Error{Op: "open", Engine: "duckdb", Kind: kv.KindOf(err), Path: path, Err: err}
	}
	w := driver.Wrapped{Driver: Driver{}, Path: path, Store: func(driver.Config) driver.Store {
		return &store{db: h, path: path, wrapped: true}
	}}
	return kv.OpenDriver(context.Background(), w, driver.Config{Path: path}, options...)
}

// lookInto makes sure of the table, and returns where the database lies; "" is in memory.
func lookInto(h *sql.DB) (path string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), kv.DefaultWait) // h may lend no more connections
	defer cancel()
	err = h.QueryRowContext(ctx, "SELECT coalesce(path, '') FROM duckdb_databases() "+
		"WHERE database_name = current_database()").Scan(&path)
	if err != nil {
		return "", classify(err)
	}
	if _, err = h.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS kv"+columns); err != nil {
		return path, classify(err)
	}
	const shape = "SELECT string_agg(column_name || ' ' || data_type, ', ' ORDER BY column_index) FROM duckdb_columns() " +
		"WHERE database_name = current_database() AND schema_name = current_schema() AND table_name = 'kv'"
	var found string
	if err := h.QueryRowContext(ctx, shape).Scan(&found); err != nil {
		return path, classify(err)
	}
	put, err := h.PrepareContext(ctx, insert(1)) // DuckDB: refuses the text if k is no key
	if err == nil {
		err = put.Close()
	}
	if err != nil || found != "k BLOB, v BLOB" {
		return path, &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf("the table kv is another program's: %s", found),
			Hint: "a store is kv" + columns}
	}
	return path, nil
}

// Handle returns the DuckDB that holds the store, for queries in SQL: the table kv is its default
// database's. It is false if db is of another engine. The program must not close it, nor write to
// the table kv, nor hold a transaction that does: kv takes itself for the only writer.
func Handle(db *kv.DB) (*sql.DB, bool) {
	s, ok := db.Driver().(*store)
	if !ok {
		return nil, false
	}
	return s.db, true
}
