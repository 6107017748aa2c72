package stats

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// outcome is what one group of a table shows.
type outcome struct {
	operation string
	first     []string      // the fastest, then those that are equivalent to it
	open      []string      // those of which it is not decided how they compare with the fastest
	next      string        // the fastest that is slower for sure; empty if there is none
	lead      *result.Ratio // of next to the fastest
	few       bool          // the fastest has too few rounds to be compared with any other
	failed    []string
	skipped   bool // some were not measured
}

// verdicts returns one verdict for each group of a table in which something was measured, and one
// for the table.
func verdicts(run *result.Run, t result.Table) []result.Verdict {
	base := result.Verdict{Workload: t.Workload, Params: t.Params, Promise: t.Promise, Best: []string{}}
	if why := run.Environment.Unranked; why != "" {
		base.Text = "Not ranked: " + why + "."
		return []result.Verdict{base}
	}
	var all []result.Verdict
	var outcomes []outcome
	for _, g := range t.Groups {
		o := outcomeOf(run.Cells, g)
		outcomes = append(outcomes, o)
		v := base
		v.Operation, v.Text = o.operation, sentence(o.clauses())
		if len(o.first) > 0 && !o.few {
			v.Best, v.Ties, v.Open = o.first[:1], o.first[1:], o.open
		}
		all = append(all, v)
	}
	base.Text = sentence(tableClauses(outcomes))
	base.Best, base.Ties = overall(outcomes)
	return append(all, base)
}

func outcomeOf(cells []result.Cell, g result.Group) outcome {
	o := outcome{operation: g.Operation}
	group := rankable(cells, g)
	slices.SortStableFunc(group, func(a, b int) int { return compareRatios(cells[a], cells[b]) })
	o.few = len(group) > 1 && len(cells[group[0]].Samples) < MinRounds
	for n, i := range group {
		c := cells[i]
		switch {
		case n == 0 || c.Ratio != nil && c.Ratio.Equivalent:
			o.first = append(o.first, c.Name())
		case c.Ratio == nil || c.Ratio.Open(), c.Ratio.Mid < 1: // the rounds in common contradict all rounds
			o.open = append(o.open, c.Name())
		case o.next == "":
			o.next, o.lead = c.Name(), c.Ratio
		}
	}
	for _, i := range g.Cells {
		switch c := cells[i]; {
		case c.Status == result.Failed:
			o.failed = append(o.failed, c.Name())
		case c.Status == result.Skipped && c.Ranked:
			o.skipped = true
		}
	}
	return o
}

// compareRatios orders the fastest first, although another may have a ratio below 1 to it, and
// cells without a ratio last.
func compareRatios(a, b result.Cell) int {
	key := func(c result.Cell) float64 {
		switch {
		case c.Ratio == nil:
			return 1e300
		case c.Ratio.To == c.Name():
			return 0
		}
		return c.Ratio.Mid
	}
	switch x, y := key(a), key(b); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// clauses says what one group shows.
func (o outcome) clauses() []string {
	var all []string
	if len(o.first) > 0 {
		lead := ""
		if o.next != "" {
			lead = fmt.Sprintf("%s faster than %s", span(o.lead.Lo, o.lead.Hi), o.next)
		}
		all = append(all, o.text(o.operation, lead))
	}
	for _, name := range o.failed {
		all = append(all, fmt.Sprintf("%s failed at %s", name, o.operation))
	}
	return all
}

// text says who is first at operations. lead is by how much the first is faster than the next that
// is told apart, empty without such a one.
func (o outcome) text(operations, lead string) string {
	all := slices.Concat(o.first, o.open)
	is, behind, fastest := "", "", "the fastest"
	if o.skipped {
		fastest = "the fastest of those measured"
	}
	if lead != "" {
		is, behind = " ("+o.first[0]+" is "+lead+")", " ("+lead+")"
	}
	switch {
	case o.few:
		return fmt.Sprintf("too few rounds to compare %s at %s", some(all), operations)
	case len(all) == 1 && lead == "":
		return fmt.Sprintf("only %s was measured at %s", all[0], operations)
	case len(all) == 1:
		return fmt.Sprintf("%s is %s at %s%s", all[0], fastest, operations, behind)
	case len(o.first) == 1:
		return fmt.Sprintf("open which of %s is %s at %s%s", some(all), fastest, operations, is)
	case len(o.open) > 0:
		return fmt.Sprintf("%s are equivalent at %s%s, open for %s", join(o.first), operations, is, some(o.open))
	}
	return fmt.Sprintf("%s are equivalent at %s%s", join(o.first), operations, is)
}

// tableClauses says what a table shows: one clause for each set of winners, the one that wins most
// first, then the failures.
func tableClauses(outcomes []outcome) []string {
	merged := map[string][]outcome{}
	var order []string
	failures := map[string][]string{}
	var failed []string
	for _, o := range outcomes {
		if len(o.first) > 0 {
			key := winners(o)
			if merged[key] == nil {
				order = append(order, key)
			}
			merged[key] = append(merged[key], o)
		}
		for _, name := range o.failed {
			if failures[name] == nil {
				failed = append(failed, name)
			}
			failures[name] = append(failures[name], o.operation)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return len(merged[b]) - len(merged[a]) })
	var all []string
	for _, key := range order {
		all = append(all, mergedClause(merged[key]))
	}
	for _, name := range failed {
		all = append(all, fmt.Sprintf("%s failed at %s", name, join(failures[name])))
	}
	return all
}

// winners is a key for outcomes that one clause can tell.
func winners(o outcome) string {
	first, open := slices.Sorted(slices.Values(o.first)), slices.Sorted(slices.Values(o.open))
	return fmt.Sprint(o.few, o.skipped, o.next == "", first, open)
}

// mergedClause says what several operations show alike: by how much holds the intervals of all.
func mergedClause(same []outcome) string {
	first := same[0]
	if len(same) == 1 {
		return first.clauses()[0]
	}
	var ops []string
	lo, hi := math.Inf(1), 0.0
	for _, o := range same {
		ops = append(ops, o.operation)
		if o.next != "" {
			lo, hi = min(lo, o.lead.Lo), max(hi, o.lead.Hi)
		}
	}
	lead := ""
	if all := slices.Concat(first.first, first.open); len(all) > 1 { // the first may not be the same everywhere
		first.first, first.open = slices.Sorted(slices.Values(first.first)), slices.Sorted(slices.Values(first.open))
	} else if first.next != "" {
		lead = span(lo, hi) + " faster than the next"
	}
	return first.text(join(ops), lead)
}

// some lists names; of many it names three.
func some(names []string) string {
	const most = 3
	if n := len(names); n > most+1 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", n-most))
	}
	return join(names)
}

// overall returns the contenders that are first, or equivalent to the first, in every group; both
// are empty where none is.
func overall(outcomes []outcome) (best, ties []string) {
	best = []string{}
	var always []string
	for _, o := range outcomes {
		switch {
		case len(o.first) == 0:
		case o.few || len(o.open) > 0:
			return best, nil
		case always == nil:
			always = slices.Clone(o.first)
		default:
			always = slices.DeleteFunc(always, func(name string) bool { return !slices.Contains(o.first, name) })
			if len(always) == 0 {
				return best, nil
			}
		}
	}
	if len(always) == 0 {
		return best, nil
	}
	return always[:1], always[1:]
}

// sentence joins clauses to one sentence.
func sentence(clauses []string) string {
	if len(clauses) == 0 {
		return "Nothing could be ranked."
	}
	s := strings.Join(clauses, "; ") + "."
	for _, word := range []string{"only ", "too few ", "open "} { // a name stays as it is
		if rest, ok := strings.CutPrefix(s, word); ok {
			return strings.ToUpper(word[:1]) + word[1:] + rest
		}
	}
	return s
}

// join lists names: "a", "a and b", "a, b and c".
func join(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// span prints a range of factors: "1.8x to 2.1x", or one if both look the same.
func span(lo, hi float64) string {
	a, b := factor(lo), factor(hi)
	if lo < fine && hi < 9.95 { // both with the same number of decimals
		b = Factor(hi) + "x"
	}
	if a == b {
		return a
	}
	return a + " to " + b
}

// fine is the factor below which two decimals are printed: 1.1x would not tell 5 % from 15 %.
const fine = 1.495

// factor prints a factor with two significant digits, or two decimals if it is near 1.
func factor(f float64) string {
	switch {
	case f < fine:
		return Factor(f) + "x"
	case f < 9.95:
		return fmt.Sprintf("%.1fx", f)
	case f < 99.5:
		return fmt.Sprintf("%.0fx", f)
	}
	magnitude := math.Pow(10, math.Floor(math.Log10(f))-1)
	return fmt.Sprintf("%.0fx", math.Round(f/magnitude)*magnitude)
}
