package stats

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/assaydb/assay/lab/result"
)

// Finish computes what follows from the samples of run: NS, Ratio and Floor of its cells, its verdicts, and warnings
// about comparisons that could not be resolved. What it computed before is replaced, so that it may be called again,
// also on a run that was read from disk.
//
// The fastest of k cells of a group is compared with each of the others, and the confidence is corrected for these k-1
// comparisons: who reads one group asks nothing of the others. The fastest was chosen by looking, which is not corrected
// for: one of five equal cells is called slower than the luckiest in 8 of 100 groups instead of 5 (simulated). Where the binary's timings mean nothing
// (Environment.Unranked) there are medians, but neither ratios nor the naming of a best.
func Finish(run *result.Run) {
	run.Verdicts = nil
	run.Warnings = withoutOwn(run.Warnings)
	for i := range run.Cells {
		measure(&run.Cells[i], run.Floor)
	}
	tables := result.Tables(run.Cells)
	u := unresolved{precision: run.Precision}
	for _, t := range tables {
		for _, g := range t.Groups {
			if run.Environment.Unranked == "" {
				u.add(rankGroup(run.Cells, rankable(run.Cells, g)))
			}
		}
		run.Verdicts = append(run.Verdicts, verdicts(run, t)...)
	}
	run.Warnings = append(run.Warnings, u.warnings(run.Took)...)
}

// measure sets what a cell shows by itself.
func measure(c *result.Cell, floor result.Floor) {
	c.NS, c.Ratio, c.Floor = nil, nil, nil
	values := finite(times(c.Samples))
	if c.Status != result.OK || len(values) == 0 {
		return
	}
	ns, _ := Median(values)
	c.NS = &ns
	if limit, ok := diskFloor(*c, floor); ok && limit > 0 && c.Ranked {
		multiple := ns.Mid / limit
		c.Floor = &multiple
	}
}

// rankGroup compares the cells of a group with the fastest of them. It returns the comparisons that were made.
func rankGroup(cells []result.Cell, group []int) []Comparison {
	if len(group) == 0 {
		return nil
	}
	best := fastest(cells, group)
	name := cells[best].Name()
	cells[best].Ratio = &result.Ratio{To: name, Lo: 1, Mid: 1, Hi: 1}
	var made []Comparison
	for _, i := range group {
		if i == best {
			continue
		}
		c := Compare(cells[i].Samples, cells[best].Samples, len(group)-1)
		made = append(made, c)
		if c.Rounds == 0 {
			continue
		}
		cells[i].Ratio = &result.Ratio{To: name, Lo: c.Lo, Mid: c.Mid, Hi: c.Hi, Different: c.Different,
			Equivalent: c.Equivalent}
	}
	return made
}

// rankable returns those cells of a group that are ranked: they ended well, have samples and are no floor.
func rankable(cells []result.Cell, g result.Group) []int {
	var kept []int
	for _, i := range g.Cells {
		if c := cells[i]; c.Ranked && c.Status == result.OK && len(finite(times(c.Samples))) > 0 {
			kept = append(kept, i)
		}
	}
	return kept
}

// fastest returns the cell of a group, which is not empty, with the lowest median. One with too few rounds to be compared
// is the fastest only if all are such.
func fastest(cells []result.Cell, group []int) int {
	best, lowest, enough := group[0], math.Inf(1), false
	for _, i := range group {
		ns, _ := Median(times(cells[i].Samples))
		switch e := len(cells[i].Samples) >= MinRounds; {
		case e && !enough, e == enough && ns.Mid < lowest:
			best, lowest, enough = i, ns.Mid, e
		}
	}
	return best
}

func times(samples []result.Sample) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = s.NS
	}
	return values
}

// unresolved counts the comparisons that are open, of which a longer run would tell more.
type unresolved struct {
	precision                float64
	total, few, open, coarse int
}

func (u *unresolved) add(made []Comparison) {
	for _, c := range made {
		u.total++
		switch {
		case !c.Enough():
			u.few++
		case !c.Different && !c.Equivalent:
			u.open++
			if u.precision > 0 && c.HalfWidth() > u.precision {
				u.coarse++
			}
		}
	}
}

const longerHint = "measure longer: --budget "

func (u unresolved) warnings(took time.Duration) []result.Warning {
	hint := longerHint + longer(took)
	var w []result.Warning
	if u.few > 0 {
		w = append(w, result.Warning{
			Text: fmt.Sprintf("%d of %d comparisons have fewer than %d rounds in common, too few to decide anything", u.few, u.total, MinRounds),
			Hint: hint,
		})
	}
	if u.open > 0 {
		text := fmt.Sprintf("%d of %d comparisons are open: neither a difference nor equivalence within %.0f %% is sure", u.open, u.total, 100*Margin)
		if u.coarse > 0 {
			text += fmt.Sprintf("; %d of them are less precise than the ±%.3g %% asked for", u.coarse, 100*u.precision)
		}
		w = append(w, result.Warning{Text: text, Hint: hint})
	}
	return w
}

// longer returns a budget, in whole minutes, of about three times what a run took.
func longer(took time.Duration) string {
	return fmt.Sprintf("%dm", max(5, int(math.Ceil((3*took).Minutes()))))
}

// withoutOwn returns the warnings that are not of Finish.
func withoutOwn(all []result.Warning) []result.Warning {
	var kept []result.Warning
	for _, w := range all {
		if !strings.HasPrefix(w.Hint, longerHint) {
			kept = append(kept, w)
		}
	}
	return kept
}
