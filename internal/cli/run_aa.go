package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
	"github.com/assaydb/assay/lab/workload"
)

// aaCell is the time that a check takes for each cell unless the user said otherwise: about what a
// run without arguments has for one of its own.
const aaCell = 1600 * time.Millisecond

// planted are the differences that a check must find.
var planted = []float64{0.10, 0.25}

// runAA compares every engine with itself, and with itself made slower. A difference between equals
// is the harness's own fault, and so is one that was planted and not found.
func (a *app) runAA(ctx context.Context, o bench.Options, budgeted bool) error {
	if o.Selections == nil {
		o.Selections = bench.DefaultSelections()
	}
	o.Selections = aaSelections(o.Selections)
	sets := aaSets(o)
	once := aaBudget(o, sets)
	if !budgeted {
		o.Budget = once
	}
	sets = aaTurns(sets, o.Budget, once)
	fmt.Fprintf(a.stdout,
		"each engine beside itself, and beside itself with every operation made 10 %% and 25 %% slower; %v in all\n",
		o.Budget.Round(time.Second))
	var all stats.Check
	whole, end := o.Budget, time.Now().Add(o.Budget)
	for i, set := range sets {
		o.Entries, o.Form = set.entries, set.form
		o.Budget = time.Until(end) / time.Duration(len(sets)-i)
		o.Seed++
		run, err := a.measure(ctx, o)
		if err != nil {
			return err
		}
		if run.Interrupted {
			return errInterrupted
		}
		var one stats.Check
		for _, k := range []*stats.Check{&one, &all} {
			k.Add(run, set.slow)
		}
		fmt.Fprintf(a.stdout, "%-14s in the form %-3s %s\n", set.entries[0].Name, set.form, checkText(one))
		a.printErrors(run, set)
	}
	if all.False.Of == 0 {
		return fmt.Errorf("nothing could be compared within %v", whole)
	}
	fmt.Fprintf(a.stdout, "A/A: %s\n", checkText(all))
	return nil
}

// checkText says what a check counted.
func checkText(k stats.Check) string {
	text := fmt.Sprintf("false differences %v", k.False)
	for _, slow := range slices.Backward(slices.Sorted(maps.Keys(k.Found))) {
		text += fmt.Sprintf(", found at %.0f%%: %v", 100*slow, k.Found[slow])
	}
	return text + fmt.Sprintf(", wrong direction %v", k.Wrong)
}

// aaSet is a contender several times: one engine in one form, as it is, again, and made slower.
type aaSet struct {
	entries []bench.Entry
	form    string
}

// slow returns by how much the contender of a name was made slower.
func (s aaSet) slow(name string) float64 {
	name, _, _ = strings.Cut(name, "/")
	for _, e := range s.entries {
		if e.Name == name {
			return e.Slow
		}
	}
	return 0
}

func aaSets(o bench.Options) []aaSet {
	var sets []aaSet
	for _, e := range o.Entries {
		again := e
		again.Name += "-again"
		entries := []bench.Entry{e, again}
		for _, by := range planted {
			slow := e
			slow.Name, slow.Slow = fmt.Sprintf("%s-slow%.0f", e.Name, 100*by), by
			entries = append(entries, slow)
		}
		for _, form := range bench.Forms(e, o.Selections) {
			sets = append(sets, aaSet{entries, form})
		}
	}
	return sets
}

// aaTurns returns sets as often as a budget has the time that they need once. A longer check makes
// more comparisons, and none with more time: how often a usual run is wrong is what it counts.
func aaTurns(sets []aaSet, budget, once time.Duration) []aaSet {
	return slices.Repeat(sets, max(1, int(budget/once)))
}

// aaSelections leaves out the operations of several workers: a delay of one is hidden where others
// work meanwhile.
func aaSelections(all []bench.Selection) []bench.Selection {
	all = slices.Clone(all)
	for i := range all {
		all[i].Ops = slices.DeleteFunc(slices.Clone(all[i].Ops), func(op workload.Op) bool { return op.Workers > 1 })
	}
	return slices.DeleteFunc(all, func(s bench.Selection) bool { return len(s.Ops) == 0 })
}

// aaBudget returns the time for all cells.
func aaBudget(o bench.Options, sets []aaSet) (budget time.Duration) {
	for _, set := range sets {
		for _, s := range o.Selections {
			for _, op := range s.Ops {
				if slices.Contains(bench.Forms(set.entries[0], []bench.Selection{{Ops: []workload.Op{op}}}), set.form) {
					budget += time.Duration(len(set.entries)) * aaCell
				}
			}
		}
	}
	return max(budget, time.Minute)
}

// printErrors prints what was called different and is not, what was not found, and the cells that
// failed.
func (a *app) printErrors(run *result.Run, set aaSet) {
	for _, c := range run.Cells {
		where := fmt.Sprintf("  %s %s %s %s", c.Workload, c.Operation, c.Promise.Delivered, c.Name())
		switch {
		case c.Status == result.Failed:
			fmt.Fprintf(a.stdout, "%s: %s\n", where, c.Error)
		case c.Ratio == nil || c.Ratio.To == c.Name():
		case c.Ratio.Different != (set.slow(c.Name()) > set.slow(c.Ratio.To)):
			fmt.Fprintf(a.stdout, "%s to %s: %.2fx [%.2f-%.2f] in %d rounds\n", where,
				c.Ratio.To, c.Ratio.Mid, c.Ratio.Lo, c.Ratio.Hi, len(c.Samples))
		}
	}
}
