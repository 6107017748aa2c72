package bench

import (
	"testing"

	"github.com/assaydb/assay/lab/workload"
)

// The parts of a slice are the slice, in whole cycles, and none is shorter than a sample needs.
func TestPartsOfASliceAreTheSlice(t *testing.T) {
	for _, c := range []struct{ n, cycle, settles, parts int }{
		{n: 1, parts: 1}, {n: 2, parts: 1}, {n: 5, parts: 2}, {n: 7, parts: 3}, {n: 8, parts: 4},
		{n: 15, settles: 1, parts: 1}, {n: 17, settles: 1, parts: 2}, {n: 32, settles: 1, parts: 4},
		{n: 34, cycle: 2, settles: 2, parts: 4}, {n: 100, cycle: 20, settles: 20, parts: 4},
		{n: 70, cycle: 35, parts: 2}, {n: 191, parts: 4},
	} {
		cell := &cell{n: c.n, settles: c.settles, op: workload.Op{Cycle: c.cycle}}
		all, parts := 0, 0
		for turn := range mostParts {
			n := cell.part(turn)
			if n > 0 {
				parts++
			}
			least := minOps
			if c.settles > 0 {
				least = leastPart
			}
			if n%cycleOf(cell.op) != 0 || n > 0 && n < min(least, c.n) {
				t.Errorf("%d in cycles of %d: a part of %d", c.n, c.cycle, n)
			}
			all += n
		}
		if all != c.n || parts != c.parts || parts != cell.parts() {
			t.Errorf("%d in cycles of %d: %d parts with %d in all, want %d", c.n, c.cycle, parts, all, c.parts)
		}
	}
	for name, cell := range map[string]*cell{
		"one that settles for long": {n: 1000, settles: 10},
		"several workers":           {n: 1000, op: workload.Op{Workers: 8}},
	} {
		if cell.parts() != 1 || cell.part(0) != 1000 || cell.part(1)+cell.part(2)+cell.part(3) != 0 {
			t.Errorf("%s: %d parts", name, cell.parts())
		}
	}
}

func TestASliceTellsOfAllItsParts(t *testing.T) {
	written := func(n int64) *int64 { return &n }
	var slice *sliceReport
	for _, part := range []*sliceReport{
		{N: 1, Wall: 10, NS: 10, Allocs: 1, AllocBytes: 8, CPU: 3, Written: written(100), RSS: 7},
		{N: 3, Wall: 90, NS: 30, Allocs: 2, AllocBytes: 16, CPU: 4, Written: written(50), RSS: 9},
	} {
		slice = slice.with(part)
	}
	if s := slice; s.N != 4 || s.Wall != 100 || s.NS != 25 || s.Allocs != 3 || s.AllocBytes != 24 || s.CPU != 7 ||
		*s.Written != 150 || s.RSS != 9 {
		t.Errorf("got %+v", s)
	}
}
