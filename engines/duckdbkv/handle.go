package duckdbkv

import (
	"context"
	"database/sql"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Open opens or creates the database at path; nil options are DuckDB's defaults. It is kv.Open with
// Go's types in place of a URL. In this process nobody may have the file open by DuckDB itself:
// DuckDB's lock does not keep the same process out, and commits of one or the other are lost.
func Open(ctx context.Context, path string, o *Options, options ...kv.Option) (*kv.DB, error) {
	if o == nil {
		o = new(Options)
	}
	return kv.OpenDriver(ctx, Driver{}, driver.Config{Path: path, Params: o.given()}, options...)
}

// Handle returns the DuckDB that holds the store, for queries in SQL: the table kv is its default
// database's. It is false if db is of another engine. The program must not close it, nor write to
// the table kv, nor hold a transaction that does: kv takes itself for the only writer. There is no
// Wrap: what a program sets on a pool's connection, such as USE, would hold for the store, and a
// pool that lends few would keep it waiting without end.
func Handle(db *kv.DB) (*sql.DB, bool) {
	s, ok := db.Driver().(*store)
	if !ok {
		return nil, false
	}
	return s.db, true
}
