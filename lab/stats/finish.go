package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// Finish computes what follows from the samples of run: NS, Ratio and Floor of its cells, its
// verdicts, and warnings about comparisons that could not be resolved. What it computed before is
// replaced, so that it may be called again, also on a run that was read from disk.
//
// A cell's ratio is of the rounds that it has in common with the fastest. So that two times divide
// to their ratio, the time of the fastest is the mean of all its rounds, and that of another one is
// so many times as long: who left early may have met another hour of the machine.
//
// The fastest of k cells of a group is compared with each of the others, and the confidence is
// corrected for all pairs of them: who reads one group asks nothing of the others, and any of its
// cells might have come out as the fastest. Where the binary's timings mean nothing
// (Environment.Unranked) there are times, but neither ratios nor the naming of a best.
func Finish(run *result.Run) {
	run.Verdicts = nil
	run.Warnings = withoutOwn(run.Warnings)
	tables := result.Tables(run.Cells)
	p := processesOf(run.Cells, tables)
	run.Processes = result.Processes(p)
	for i := range run.Cells {
		p.measure(&run.Cells[i])
	}
	var tally Tally
	for _, t := range tables {
		for _, g := range t.Groups {
			if group := rankable(run.Cells, g); run.Environment.Unranked == "" && len(group) > 0 {
				p.rankGroup(run.Cells, group)
				tally.Add(cellsOf(run.Cells, group))
			}
		}
		run.Verdicts = append(run.Verdicts, verdicts(run, t)...)
	}
	for i := range run.Cells {
		above(&run.Cells[i], run.Floor)
	}
	if tally.Open > 0 {
		run.Warnings = append(run.Warnings, unresolved(run, tally))
	}
}

// measure sets what a cell shows by itself.
func (p Processes) measure(c *result.Cell) {
	c.NS, c.Ratio, c.Floor = nil, nil, nil
	if c.Status == result.OK && len(positive(c.Samples)) > 0 {
		ns := p.mean(c.Samples)
		c.NS = &ns
	}
}

// above sets how many times as long as the disk's floor a ranked cell takes.
func above(c *result.Cell, floor result.Floor) {
	if c.NS == nil || !c.Ranked {
		return
	}
	if limit, ok := diskFloor(*c, floor); ok && limit > 0 {
		multiple := c.NS.Mid / limit
		c.Floor = &multiple
	}
}

func cellsOf(cells []result.Cell, indices []int) []result.Cell {
	out := make([]result.Cell, len(indices))
	for i, index := range indices {
		out[i] = cells[index]
	}
	return out
}

// rankGroup compares the cells of a group, which is not empty, with the fastest of them.
func (p Processes) rankGroup(cells []result.Cell, group []int) {
	best := fastest(cells, group)
	name := cells[best].Name()
	cells[best].Ratio = &result.Ratio{To: name, Lo: 1, Mid: 1, Hi: 1}
	for _, i := range group {
		if i == best {
			continue
		}
		c := p.beside(cells[i], cells[best], len(group))
		if c.Rounds == 0 {
			continue
		}
		cells[i].Ratio = &result.Ratio{To: name, Lo: c.Lo, Mid: c.Mid, Hi: c.Hi, Different: c.Different,
			Equivalent: c.Equivalent}
		ns, times := cells[i].NS, c.Mid*cells[best].NS.Mid/cells[i].NS.Mid
		ns.Lo, ns.Mid, ns.Hi = times*ns.Lo, times*ns.Mid, times*ns.Hi
	}
}

// beside compares two of k cells of a table.
func (p Processes) beside(a, b result.Cell, k int) Comparison {
	c := p.compare(a.Samples, b.Samples, finalShare*level(k))
	// Rounds that only one of them had may say the opposite. Then nothing is sure.
	if (c.Mid > 1) != (meanOf(positive(a.Samples)) > meanOf(positive(b.Samples))) {
		c.Different = false
	}
	return c
}

// Beside compares two cells of a finished run as its tables do: what processes differ by is what
// the whole run tells, and the level is that of the table in which both stand, or of two alone. So
// beside the fastest of a table the interval is the one that stands there.
func Beside(run *result.Run, a, b result.Cell) Comparison {
	p, k := Usual, 2
	if run.Processes.Freedom > 0 {
		p = Processes(run.Processes)
	}
	if keyOf(a) == keyOf(b) {
		k = 0
		for _, c := range run.Cells {
			if measured(c) && keyOf(c) == keyOf(a) {
				k++
			}
		}
	}
	return p.beside(a, b, k)
}

// rankable returns those cells of a group that are ranked: they ended well, have samples and are no
// floor.
func rankable(cells []result.Cell, g result.Group) []int {
	var kept []int
	for _, i := range g.Cells {
		if c := cells[i]; c.Ranked && c.Status == result.OK && len(positive(c.Samples)) > 0 {
			kept = append(kept, i)
		}
	}
	return kept
}

// fastest returns the cell of a group, which is not empty, with the lowest mean; of two that have
// rounds in common, the one that is faster in these: the others may be of a slower hour. One with
// too few rounds to be compared is the fastest only if all are such, and one that left the race as
// far behind only if all did.
func fastest(cells []result.Cell, group []int) int {
	rank := func(c result.Cell) int {
		switch {
		case len(c.Samples) < MinRounds:
			return 0
		case c.Early == result.EarlyBehind:
			return 1
		}
		return 2
	}
	type contender struct {
		at, rank int
		mean     float64
	}
	var order []contender
	for _, i := range group {
		order = append(order, contender{i, rank(cells[i]), meanOf(positive(cells[i].Samples))})
	}
	slices.SortStableFunc(order, func(a, b contender) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.mean, b.mean))
	})
	best := order[0]
	for _, c := range order[1:] {
		if c.rank < best.rank {
			break
		}
		x, y := paired(cells[c.at].Samples, cells[best.at].Samples)
		if len(x) >= MinRounds && meanOf(x) < meanOf(y) {
			best = c
		}
	}
	return best.at
}

const longerHint = "measure longer: --budget "

// unresolved says how many comparisons of a run are open, and how long it takes to decide them.
func unresolved(run *result.Run, t Tally) result.Warning {
	text := fmt.Sprintf("%d of %d comparisons are open: neither a difference nor equivalence within %.0f %% is sure",
		t.Open, t.All, 100*Margin)
	if t.Few > 0 {
		text += fmt.Sprintf("; %d of them have fewer than %d rounds in common", t.Few, MinRounds)
	}
	takes, near := Needs(run)
	if near > 0 {
		text += fmt.Sprintf("; %d of them are so near to a limit that they would take hundreds of times as long", near)
	}
	return result.Warning{Text: text, Hint: longerHint + fmt.Sprintf("%.0fm", max(1, math.Ceil(takes.Minutes())))}
}

// Unresolved reports whether a warning is that of Finish, of comparisons that are open.
func Unresolved(w result.Warning) bool { return strings.HasPrefix(w.Hint, longerHint) }

// withoutOwn returns the warnings that are not of Finish.
func withoutOwn(all []result.Warning) []result.Warning {
	var kept []result.Warning
	for _, w := range all {
		if !Unresolved(w) {
			kept = append(kept, w)
		}
	}
	return kept
}
