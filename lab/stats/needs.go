package stats

import (
	"time"

	"github.com/assaydb/assay/lab/result"
)

// Tally counts comparisons as an answer tells them: in each group the engine of the fastest with
// each of the others. One with an engine of several forms is open if it is open with any of them.
type Tally struct{ All, Open, Few int }

// Add counts the comparisons of a group of a finished run. Few of those that are open have too few
// rounds in common to decide anything.
func (t *Tally) Add(group []result.Cell) {
	best := bestOf(group)
	if best < 0 {
		return
	}
	engines := map[string]struct{ open, few bool }{}
	for _, c := range group {
		if c.Ratio == nil || !c.Ranked || c.Engine == group[best].Engine {
			continue
		}
		e := engines[c.Engine]
		x, _ := paired(c.Samples, group[best].Samples)
		few := len(x) < MinRounds
		engines[c.Engine] = struct{ open, few bool }{e.open || few || c.Ratio.Open(), e.few || few}
	}
	for _, e := range engines {
		t.All++
		if e.open {
			t.Open++
		}
		if e.few {
			t.Few++
		}
	}
}

// bestOf returns the cell that the others of a group were compared with; -1 if none was.
func bestOf(group []result.Cell) int {
	for i, c := range group {
		if c.Ratio != nil && c.Ratio.To == c.Name() {
			return i
		}
	}
	return -1
}

// Hopeless is how many times as many rounds nobody waits for.
const Hopeless = 500

// Part returns a run as if it had measured nothing but the cells that are asked for, in their share
// of its time.
func Part(run *result.Run, asked func(result.Cell) bool) *result.Run {
	part := *run
	part.Cells = nil
	all, some := 0.0, 0.0
	for _, c := range run.Cells {
		all += spent(c)
		if asked(c) {
			some += spent(c)
			part.Cells = append(part.Cells, c)
		}
	}
	part.Took = time.Duration(float64(run.Took) * (some / max(all, 1e-9))) // of all of it exactly Took
	Finish(&part)
	return &part
}

// Needs returns how long a run of the cells of a finished one takes in all to decide what that left
// open, by the variance that it saw. near comparisons are not in it: they are so near to a limit
// that they would take [Hopeless] times as long.
func Needs(run *result.Run) (takes time.Duration, near int) {
	all, more := 0.0, 0.0
	for _, c := range run.Cells {
		all += spent(c)
	}
	tables := result.Tables(run.Cells)
	p := processesOf(run.Cells, tables)
	for _, t := range tables {
		for _, g := range t.Groups {
			m, n := p.needs(cellsOf(run.Cells, rankable(run.Cells, g)))
			more, near = more+m, near+n
		}
	}
	return time.Duration(float64(run.Took) * (1 + more/max(all, 1e-9))), near
}

// needs returns how much longer a group must be measured, in seconds, until what is open in it is
// decided.
func (p Processes) needs(group []result.Cell) (seconds float64, near int) {
	best := bestOf(group)
	if best < 0 {
		return 0, 0
	}
	times, open := 0.0, 0.0
	hopeless := map[string]bool{}
	for _, c := range group {
		if c.Ratio == nil || !c.Ratio.Open() || c.Engine == group[best].Engine {
			continue
		}
		more := p.beside(c, group[best], len(group)).more()
		if more > Hopeless {
			hopeless[c.Engine] = true
			continue
		}
		times, open = max(times, more), open+spent(c)
	}
	if open > 0 {
		open += spent(group[best])
	}
	return times * open, len(hopeless)
}

// spent is how long the operations of a cell took that were measured, in seconds.
func spent(c result.Cell) (sum float64) {
	for _, s := range positive(c.Samples) {
		if c.Rate > 0 { // a time is then a latency
			sum += weightOf(s) / c.Rate
		} else {
			sum += weightOf(s) * s.NS / 1e9
		}
	}
	return sum
}
