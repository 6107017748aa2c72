//go:build cgo

package main

import (
	"github.com/assaydb/assay/internal/cli"
	"github.com/assaydb/assay/lab/bench"

	_ "github.com/assaydb/assay/engines/sqliteckv"
)

func init() {
	catalog = append(catalog, cli.Contender{Entry: bench.Entry{Name: "sqlite-c", Engine: "sqlite-c"},
		Summary: "SQLite itself, in C, WAL journal"})
}
