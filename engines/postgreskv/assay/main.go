// Command assay is the command assay with PostgreSQL in, beside two engines on this machine's disk:
//
//	go run ./assay run ycsb --engines 'bbolt,sqlite,pg=postgres:?dsn=host=/run/postgresql'
package main

import (
	"github.com/assaydb/assay"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/postgreskv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
)

// catalog names the engines in this binary. PostgreSQL is measured where its server is named.
var catalog = []assay.Engine{
	{Name: "bbolt", Engine: "bbolt", Default: true, Summary: "B+ tree in one file"},
	{Name: "sqlite", Engine: "sqlite", Default: true, Summary: "B-tree in one file"},
	{Name: "postgres", Engine: "postgres", Summary: "a table of a server"},
}

func main() { assay.Main(assay.Config{Engines: catalog}) }
