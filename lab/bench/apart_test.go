package bench

import (
	"os"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/workload"
)

// What the process that starts others allocates and holds is not what the operation takes: it was
// told as "0 B written" and "0 allocations" of eight processes that put.
func TestWhatOtherProcessesTakeIsNotToldAsOurs(t *testing.T) {
	w, _, err := workload.Own("apart", []byte(
		"summary: s\nstores: {s: {keys: {count: 100}}}\noperations: [{name: put, mix: {update: 100}, processes: 2, open: each}]"))
	if err != nil {
		t.Fatal(err)
	}
	workload.Register(w)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		workload, operation string
		heap, processor     bool // what is known of it
	}{{"ycsb", "A", true, true}, {"hook", "processes", false, othersCounted}, {"hook", "storm", false, othersCounted},
		{"apart", "put", false, false}} {
		s := state{}
		setup, err := s.setup(t.Context(), cellSpec{Workload: c.workload, Operation: c.operation, Engine: "bbolt", Form: "kv",
			Durability: kv.Flushed, Seed: 1, Dir: t.TempDir(), Helper: []string{exe, helperRole}})
		if err != nil {
			t.Fatal(err)
		}
		one := cell{Cell: result.Cell{Status: result.OK}, apart: setup.Apart, staying: setup.Staying}
		one.record(1, 0, &sliceReport{N: 1, Written: new(int64)})
		got := (&group{cells: []*cell{&one}}).results(t.Context())[0]
		if (got.Allocs != nil) != c.heap || (got.AllocBytes != nil) != c.heap || (got.RSS != nil) != c.heap {
			t.Errorf("%s %s: allocations %v, memory %v; want them to be known: %v", c.workload, c.operation, got.Allocs != nil,
				got.RSS != nil, c.heap)
		}
		if (got.CPU != nil) != c.processor || (got.Written != nil) != c.processor {
			t.Errorf("%s %s: processor time %v, bytes written %v; want them to be known: %v", c.workload, c.operation,
				got.CPU != nil, got.Written != nil, c.processor)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}
