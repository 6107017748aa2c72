package bench

import (
	"time"

	"github.com/assaydb/assay/lab/workload"
)

const (
	// minOps is how many operations a slice holds at least, where they fit into stretch times its
	// share of the time. Many rounds of few tell more than few rounds of many: how much they differ
	// is known then.
	minOps  = 2
	stretch = 2

	// fewOps is below how many operations a slice of a cold start is forgotten where more fit.
	fewOps = 8

	// maxOps is how many it holds at most.
	maxOps = 1 << 20

	// settling is how long a child works at the start of each turn before it is timed. While
	// others ran, its memory has left the processor's caches, and the runtime's threads sleep: for
	// about 3 ms, operations take 1.2 to 2 times as long. A program that has one engine never sees
	// that.
	settling = 3 * time.Millisecond
	// What takes longer than longOp waits for the disk for most of that. The first of a turn takes
	// 0.05 to 0.2 ms longer, the others do not, so that only the first one settles.
	longOp = 100 * time.Microsecond

	// refitRounds is how many rounds may still change how many operations a slice holds.
	refitRounds = 3
)

// fit returns how many operations, of perOp ns each, a slice holds that should take target.
func fit(target time.Duration, perOp float64, cycle int) int {
	n := float64(target) / max(perOp, 1)
	return whole(int(min(max(n, min(minOps, stretch*n)), maxOps)), cycle)
}

// settle returns how many operations, of perOp ns each, are done before a turn is timed: none where
// the first one differs by little, and none whose reset, untimed, lets the process run anyway.
func (c *cell) settle(perOp float64) int {
	cycle := cycleOf(c.op)
	switch {
	case c.resets || c.Rate > 0 || perOp*float64(cycle) > float64(settling):
		return 0
	case perOp > float64(longOp):
		return cycle
	}
	return int(min(float64(settling)/max(perOp, 1), maxOps/2)) / cycle * cycle
}

// whole returns n in whole cycles of an operation that is a mix: every slice then holds the same
// parts of it.
func whole(n, cycle int) int {
	n = max(n+cycle-1, cycle) / cycle * cycle
	if n > maxOps {
		n -= cycle
	}
	return n
}

// cycleOf returns the fewest iterations of op that hold each of its kinds in proportion.
func cycleOf(op workload.Op) int { return max(op.Cycle, 1) }

// refit finds n again after one of the first rounds if the warm-up was wrong about it by more than
// a factor of two, as where an engine's first operations are slow. One slow slice among others
// makes the next no shorter.
func (c *cell) refit(s *sliceReport) {
	perOp := min(s.NS, float64(c.wall)/float64(c.N))
	n := fit(c.target, perOp, cycleOf(c.op))
	if n <= 2*c.n && c.n <= 2*n {
		return
	}
	c.tooFew = c.n < min(n, fewOps)
	c.n, c.settles, c.took = n, c.settle(perOp), perOp*float64(n)
}

// forget drops the slices so far: they held too few operations to be samples.
func (c *cell) forget() {
	c.tooFew = false
	c.N, c.Samples = 0, nil
	c.wall, c.allocs, c.allocBytes, c.cpu, c.written = 0, 0, 0, 0, 0
	c.metrics = map[string][]workload.Metric{}
}
