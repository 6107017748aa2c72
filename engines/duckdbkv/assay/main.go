// Command assay is the command assay with DuckDB in, beside two engines to compare it with.
package main

import (
	"context"
	"os"

	"github.com/assaydb/assay/internal/cli"
	"github.com/assaydb/assay/lab/bench"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/duckdbkv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
)

// catalog names the engines in this binary.
var catalog = []cli.Contender{
	{Entry: bench.Entry{Name: "bbolt", Engine: "bbolt"}, Default: true, Summary: "B+ tree in one file"},
	{Entry: bench.Entry{Name: "sqlite", Engine: "sqlite"}, Default: true, Summary: "SQLite in pure Go, WAL journal"},
	{Entry: bench.Entry{Name: "duckdb", Engine: "duckdb"}, Default: true, Summary: "column store for analytics: not made for single keys"},
}

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, catalog))
}
