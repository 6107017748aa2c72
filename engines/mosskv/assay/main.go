// Command assay is the command assay with moss in, beside two engines to compare it with.
package main

import (
	"context"
	"os"

	"github.com/assaydb/assay/internal/cli"
	"github.com/assaydb/assay/lab/bench"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/mosskv"
	_ "github.com/assaydb/assay/engines/pebblekv"
)

// catalog names the engines in this binary.
var catalog = []cli.Contender{
	{Entry: bench.Entry{Name: "bbolt", Engine: "bbolt"}, Default: true, Summary: "B+ tree in one file"},
	{Entry: bench.Entry{Name: "pebble", Engine: "pebble"}, Default: true, Summary: "LSM tree, CockroachDB's"},
	{Entry: bench.Entry{Name: "moss", Engine: "moss"}, Default: true, Summary: "sorted segments in memory, written in the background"},
}

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, catalog))
}
