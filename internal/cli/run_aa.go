package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
	"github.com/assaydb/assay/lab/workload"
)

// aaBudget is the time that an A/A check takes unless the user said otherwise: enough for 200 comparisons.
const aaBudget = 10 * time.Minute

// runAA compares every engine with itself. Whatever difference is reported is the harness's own fault.
func (a *app) runAA(ctx context.Context, o bench.Options, budgeted bool) error {
	if !budgeted {
		o.Budget = aaBudget
	}
	if o.Selections == nil {
		o.Selections = allOperations()
	}
	var all stats.Share
	pairs, whole, end := aaPairs(o), o.Budget, time.Now().Add(o.Budget)
	for i, pair := range pairs {
		o.Entries, o.Form = pair.entries, pair.form
		o.Budget = time.Until(end) / time.Duration(len(pairs)-i)
		run, err := a.measure(ctx, o)
		if err != nil {
			return err
		}
		if run.Interrupted {
			return errInterrupted
		}
		share := stats.AA(run)
		fmt.Fprintf(a.stdout, "%-14s in the form %-3s compared with itself: %v reported as different\n", pair.entries[0].Name, pair.form, share)
		a.printDifferences(run)
		all.Part, all.Of = all.Part+share.Part, all.Of+share.Of
	}
	if all.Of == 0 {
		return fmt.Errorf("nothing could be compared within %v", whole)
	}
	fmt.Fprintf(a.stdout, "A/A: of the comparisons of an engine with itself, reported as different: %d of %d, %.1f%%\n",
		all.Part, all.Of, 100*all.Fraction())
	return nil
}

// aaPair is a contender twice: one engine in one form.
type aaPair struct {
	entries []bench.Entry
	form    string
}

func aaPairs(o bench.Options) []aaPair {
	var pairs []aaPair
	for _, e := range o.Entries {
		again := e
		again.Name += "-again"
		for _, form := range bench.Forms(e, o.Selections) {
			pairs = append(pairs, aaPair{[]bench.Entry{e, again}, form})
		}
	}
	return pairs
}

// printDifferences prints the comparisons that were reported as different, and the cells that failed.
func (a *app) printDifferences(run *result.Run) {
	for _, c := range run.Cells {
		switch {
		case c.Status == result.Failed:
			fmt.Fprintf(a.stdout, "  %s %s %s: %s\n", c.Workload, c.Operation, c.Name(), c.Error)
		case c.Ratio != nil && c.Ratio.Different:
			fmt.Fprintf(a.stdout, "  %s %s %s %s: %.2fx [%.2f-%.2f] in %d rounds\n", c.Workload, c.Operation, c.Promise.Delivered,
				c.Name(), c.Ratio.Mid, c.Ratio.Lo, c.Ratio.Hi, len(c.Samples))
		}
	}
}

func allOperations() []bench.Selection {
	var all []bench.Selection
	for _, w := range workload.All() {
		all = append(all, bench.Selection{Workload: w, Ops: w.Ops})
	}
	return all
}
