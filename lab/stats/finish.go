package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/lab/result"
)

// Finish computes what follows from the samples of run: NS, Ratio and Floor of its cells, its
// verdicts, and warnings about comparisons that could not be resolved. What it computed before is
// replaced, so that it may be called again, also on a run that was read from disk.
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
		p.measure(&run.Cells[i], run.Floor)
	}
	u := unresolved{}
	for _, t := range tables {
		for _, g := range t.Groups {
			if run.Environment.Unranked == "" {
				u.add(p.rankGroup(run.Cells, rankable(run.Cells, g)))
			}
		}
		run.Verdicts = append(run.Verdicts, verdicts(run, t)...)
	}
	run.Warnings = append(run.Warnings, u.warnings(run.Took)...)
}

// measure sets what a cell shows by itself.
func (p Processes) measure(c *result.Cell, floor result.Floor) {
	c.NS, c.Ratio, c.Floor = nil, nil, nil
	if c.Status != result.OK || len(positive(c.Samples)) == 0 {
		return
	}
	ns := p.mean(c.Samples)
	c.NS = &ns
	if limit, ok := diskFloor(*c, floor); ok && limit > 0 && c.Ranked {
		multiple := ns.Mid / limit
		c.Floor = &multiple
	}
}

// rankGroup compares the cells of a group with the fastest of them. It returns the comparisons that
// were made.
func (p Processes) rankGroup(cells []result.Cell, group []int) []Comparison {
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
		c := p.beside(cells[i], cells[best], len(group))
		made = append(made, c)
		if c.Rounds == 0 {
			continue
		}
		cells[i].Ratio = &result.Ratio{To: name, Lo: c.Lo, Mid: c.Mid, Hi: c.Hi, Different: c.Different,
			Equivalent: c.Equivalent}
	}
	return made
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

// unresolved counts the comparisons that are open, of which a longer run would tell more.
type unresolved struct {
	total, few, open int
	near             int     // of the open ones, those that would take hopelessly long
	most             float64 // rounds that the others need, as a multiple of those they have
}

func (u *unresolved) add(made []Comparison) {
	for _, c := range made {
		u.total++
		switch {
		case !c.Enough():
			u.few++
		case !c.Different && !c.Equivalent:
			u.open++
			if more := c.more(); more > Hopeless {
				u.near++
			} else {
				u.most = max(u.most, more)
			}
		}
	}
}

// Hopeless is how many times as many rounds nobody waits for.
const Hopeless = 500

const longerHint = "measure longer: --budget "

func (u unresolved) warnings(took time.Duration) []result.Warning {
	hint := longerHint + longer(took, u.most)
	var w []result.Warning
	if u.few > 0 {
		w = append(w, result.Warning{
			Text: fmt.Sprintf("%d of %d comparisons have fewer than %d rounds in common, too few to decide anything",
				u.few, u.total, MinRounds),
			Hint: hint,
		})
	}
	if u.open > 0 {
		text := fmt.Sprintf("%d of %d comparisons are open: neither a difference nor equivalence within %.0f %% is sure", u.open, u.total, 100*Margin)
		if u.near > 0 {
			text += fmt.Sprintf("; %d of them are so near to a limit that they would take hundreds of times as long",
				u.near)
		}
		w = append(w, result.Warning{Text: text, Hint: hint})
	}
	return w
}

// longer returns a budget, in whole minutes, in which what is open gets so many times more rounds.
// The rounds of what is decided cost less than they did, and estimates of what is needed come out
// too low, which about evens out.
func longer(took time.Duration, more float64) string {
	times := min(max(1+more, 3), Hopeless)
	return fmt.Sprintf("%dm", max(5, int(math.Ceil(times*took.Minutes()))))
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
