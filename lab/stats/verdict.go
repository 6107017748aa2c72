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
	first     []string      // the fastest, then those that tie with it
	unsure    []string      // those that are probably slower than the fastest
	next      string        // the fastest that is slower for sure; empty if there is none
	lead      *result.Ratio // of next to the fastest
	few       bool          // a tie is one for want of rounds
	failed    []string
}

// verdicts returns one verdict for each group of a table in which something was measured, and one for the table.
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
		if len(o.first) > 0 {
			v.Best, v.Ties = o.first[:1], o.first[1:]
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
	for _, i := range group {
		c := cells[i]
		o.few = o.few || len(pairedLogs(c.Samples, cells[group[0]].Samples)) < MinRounds && len(group) > 1
		switch {
		case c.Ratio == nil: // no round in common with the fastest
		case c.Ratio.Unresolved:
			o.unsure = append(o.unsure, c.Name())
		case !c.Ratio.Different:
			o.first = append(o.first, c.Name())
		case o.next == "":
			o.next, o.lead = c.Name(), c.Ratio
		}
	}
	for _, i := range g.Cells {
		if cells[i].Status == result.Failed {
			o.failed = append(o.failed, cells[i].Name())
		}
	}
	return o
}

// compareRatios orders the fastest first, although another may have a ratio below 1 to it, and cells without a ratio
// last.
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
	switch {
	case len(o.first) == 0:
	case len(o.first) == 1 && o.next == "" && len(o.unsure) > 0:
		all = append(all, fmt.Sprintf("%s is probably the fastest at %s, but more rounds are needed", o.first[0], o.operation))
	case len(o.first) == 1 && o.next == "":
		all = append(all, fmt.Sprintf("only %s was measured at %s", o.first[0], o.operation))
	case len(o.first) == 1:
		all = append(all, fmt.Sprintf("%s is %s at %s (%s faster than %s%s)", o.first[0], theFastest(o.unsure), o.operation,
			span(o.lead.Lo, o.lead.Hi), o.next, needRounds("; ", o.unsure)))
	case o.few:
		all = append(all, fmt.Sprintf("too few rounds to tell %s apart at %s", join(o.first), o.operation))
	case o.next == "":
		all = append(all, fmt.Sprintf("%s tie at %s%s", join(o.first), o.operation, needRounds(", but ", o.unsure)))
	default:
		all = append(all, fmt.Sprintf("%s tie at %s (%s is %s faster than %s%s)", join(o.first), o.operation, o.first[0],
			span(o.lead.Lo, o.lead.Hi), o.next, needRounds("; ", o.unsure)))
	}
	for _, name := range o.failed {
		all = append(all, fmt.Sprintf("%s failed at %s", name, o.operation))
	}
	return all
}

// tableClauses says what a table shows: one clause for each set of winners, the one that wins most first, then the
// failures.
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
	names := slices.Clone(o.first)
	if len(names) > 1 {
		slices.Sort(names)
	}
	switch {
	case len(names) == 1 && o.next == "" && len(o.unsure) > 0:
		return "probably " + names[0]
	case len(names) == 1 && o.next == "":
		return "only " + names[0]
	case len(names) == 1 && len(o.unsure) > 0:
		return "partly " + names[0]
	case len(names) > 1 && o.few:
		return "few " + strings.Join(names, " ")
	}
	return strings.Join(names, " ")
}

func mergedClause(same []outcome) string {
	if len(same) == 1 {
		return same[0].clauses()[0]
	}
	var ops, unsure []string
	lo, hi := 0.0, 0.0
	for _, o := range same {
		ops = append(ops, o.operation)
		unsure = append(unsure, o.unsure...)
		if o.next == "" {
			continue
		}
		if lo == 0 || o.lead.Mid < lo {
			lo = o.lead.Mid
		}
		hi = max(hi, o.lead.Mid)
	}
	first := same[0]
	switch {
	case len(first.first) > 1 && first.few:
		return fmt.Sprintf("too few rounds to tell %s apart at %s", join(slices.Sorted(slices.Values(first.first))), join(ops))
	case len(first.first) > 1:
		return fmt.Sprintf("%s tie at %s", join(slices.Sorted(slices.Values(first.first))), join(ops))
	case first.next == "" && len(first.unsure) > 0:
		return fmt.Sprintf("%s is probably the fastest at %s, but more rounds are needed", first.first[0], join(ops))
	case first.next == "":
		return fmt.Sprintf("only %s was measured at %s", first.first[0], join(ops))
	}
	next := "the next"
	if len(unsure) > 0 {
		next = "the next that is told apart"
	}
	return fmt.Sprintf("%s is %s at %s (%s faster than %s%s)", first.first[0], theFastest(unsure), join(ops), span(lo, hi), next, needRounds("; ", unsure))
}

// theFastest is what a contender is called before which there may be others: those that are unsure.
func theFastest(unsure []string) string {
	if len(unsure) > 0 {
		return "probably the fastest"
	}
	return "the fastest"
}

// needRounds says, after before, that it takes more rounds to tell names from the fastest. Of many it names three; without
// any it is empty.
func needRounds(before string, names []string) string {
	const most = 3
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return before + names[0] + " needs more rounds"
	case n > most:
		names = append(names[:most], fmt.Sprintf("%d more", n-most))
	}
	return before + join(names) + " need more rounds"
}

// overall returns the contenders that are first, or tie with the first, in every group; both are empty where none is.
func overall(outcomes []outcome) (best, ties []string) {
	best = []string{}
	var always []string
	for _, o := range outcomes {
		switch {
		case len(o.first) == 0:
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
	for _, word := range []string{"only ", "too few "} { // a name stays as it is
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
		b = fmt.Sprintf("%.2fx", hi)
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
		return fmt.Sprintf("%.2fx", f)
	case f < 9.95:
		return fmt.Sprintf("%.1fx", f)
	case f < 99.5:
		return fmt.Sprintf("%.0fx", f)
	}
	magnitude := math.Pow(10, math.Floor(math.Log10(f))-1)
	return fmt.Sprintf("%.0fx", math.Round(f/magnitude)*magnitude)
}
