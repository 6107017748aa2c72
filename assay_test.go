package assay_test

import (
	"github.com/assaydb/assay"
	"github.com/assaydb/assay/lab/workload"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
)

// sessions is a workload of the program's own; see workload.Register for a whole one.
var sessions workload.Workload

// The main of an assay with two engines, one of them in two settings, and a workload of its own.
func ExampleMain() {
	assay.Main(assay.Config{
		Engines: []assay.Engine{
			{Engine: "bbolt", Default: true},
			{Name: "bbolt-map", Engine: "bbolt", Options: "FreelistType=hashmap", Default: true},
			{Engine: "sqlite", Package: "github.com/assaydb/assay/engines/sqlitekv", Default: true},
		},
		Workloads: []workload.Workload{sessions},
	})
}
