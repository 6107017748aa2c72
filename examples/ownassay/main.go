// Command ownassay is an assay with an engine and a workload of somebody's own, beside two engines
// of assay's: it runs, proves, ranks and advises as assay does. Copy it.
//
//	go build -o ownassay .
//	./ownassay prove --engines journal --budget 1m --out proof
//	./ownassay run sessions --proof proof
//	./ownassay advise sessions
package main

import (
	"github.com/assaydb/assay"
	"github.com/assaydb/assay/lab/workload"

	_ "example.com/ownassay/journal"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
)

func main() {
	assay.Main(assay.Config{
		Engines: []assay.Engine{
			{Engine: "journal", Default: true},
			{Engine: "bbolt", Default: true},
			{Engine: "pebble", Default: true},
		},
		Workloads: []workload.Workload{sessions},
	})
}
