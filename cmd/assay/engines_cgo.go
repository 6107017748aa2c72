//go:build cgo

package main

import (
	"github.com/assaydb/assay"

	_ "github.com/assaydb/assay/engines/sqliteckv"
	_ "github.com/assaydb/assay/sqlite/sqldriver" // for what is kept in tables
)

func init() {
	catalog = append(catalog, assay.Engine{Name: "sqlite-c", Engine: "sqlite-c",
		Package: "github.com/assaydb/assay/engines/sqliteckv", Summary: "SQLite itself, in C, WAL journal"})
}
