// Command assay is the command assay with moss in, beside two engines to compare it with.
package main

import (
	"github.com/assaydb/assay"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/mosskv"
	_ "github.com/assaydb/assay/engines/pebblekv"
)

// catalog names the engines in this binary.
var catalog = []assay.Engine{
	{Name: "bbolt", Engine: "bbolt", Default: true, Summary: "B+ tree in one file"},
	{Name: "pebble", Engine: "pebble", Default: true, Summary: "LSM tree, CockroachDB's"},
	{Name: "moss", Engine: "moss", Default: true, Summary: "sorted segments in memory, written in the background"},
}

func main() { assay.Main(assay.Config{Engines: catalog}) }
