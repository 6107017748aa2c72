// Command assay is the command assay with DuckDB in, beside two engines to compare it with.
package main

import (
	"github.com/assaydb/assay"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/duckdbkv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
)

// catalog names the engines in this binary.
var catalog = []assay.Engine{
	{Name: "bbolt", Engine: "bbolt", Default: true, Summary: "B+ tree in one file"},
	{Name: "sqlite", Engine: "sqlite", Default: true, Summary: "SQLite in pure Go, WAL journal"},
	{Name: "duckdb", Engine: "duckdb", Default: true, Summary: "column store for analytics: not made for single keys"},
}

func main() { assay.Main(assay.Config{Engines: catalog}) }
