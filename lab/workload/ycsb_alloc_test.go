//go:build !race

package workload_test

import (
	"context"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
)

// It is not run under the race detector, where pools drop what they hold now and then.
func TestYCSBCostsNoAllocationOnTheEngineThatKeepsNothing(t *testing.T) {
	w, _ := workload.Lookup("ycsb")
	for _, op := range w.Ops {
		r := start(t, "ycsb", op.Name, workload.Env{Engine: "null", Durability: kv.Synced, Seed: 4})
		const runs = 2000
		if err := r.Prepare(runs + 2); err != nil {
			t.Fatal(err)
		}
		ctx, i := context.Background(), 0
		if got := testing.AllocsPerRun(runs, func() {
			if err := r.Do(ctx, 0, i); err != nil {
				t.Fatal(err)
			}
			i++
		}); got != 0 {
			t.Errorf("%s: %v allocations, want 0", op.Name, got)
		}
	}
}
