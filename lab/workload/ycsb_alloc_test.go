//go:build !race

package workload_test

import (
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
)

// It is not run under the race detector, where pools drop what they hold now and then.
func TestYCSBCostsNoAllocationOnTheEngineThatKeepsNothing(t *testing.T) {
	w, _ := workload.Lookup("ycsb")
	for _, op := range w.Ops {
		r := start(t, "ycsb", op.Name, workload.Env{Engine: "null", Durability: kv.Synced, Seed: 4})
		allocatesNothing(t, op.Name, r)
	}
}
