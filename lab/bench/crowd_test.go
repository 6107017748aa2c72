package bench

import (
	"os"
	"testing"

	"github.com/assaydb/assay/kv"
)

// The processes of a storm are as many workers, so that its cells warm up one after the other: all
// together they were thousands of processes, none of which ended in time. One caller starts them,
// and a slice is as short as one storm.
func TestAStormIsACrowdThatOneCallerStarts(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for operation, cycle := range map[string]int{"storm": 1, "processes": 5} {
		s := state{}
		got, err := s.setup(t.Context(), cellSpec{Workload: "hook", Operation: operation, Params: map[string]string{"n": "3"},
			Engine: "bbolt", Form: "kv", Durability: kv.Flushed, Seed: 1, Dir: t.TempDir(),
			Helper: []string{exe, helperRole}})
		if err != nil {
			t.Fatal(err)
		}
		if got.Workers != 3 || got.Cycle != cycle || got.Resets != (operation == "storm") {
			t.Errorf("%s: %d workers, a cycle of %d, resets %v", operation, got.Workers, got.Cycle, got.Resets)
		}
		if _, err := s.slice(t.Context(), sliceSpec{N: cycle}); err != nil {
			t.Errorf("%s: %v", operation, err)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}
