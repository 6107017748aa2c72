package report

import (
	"fmt"
	"slices"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// legend explains what the report shows, and only that.
func (p *page) legend(run *result.Run, tables []result.Table) {
	has := func(f func(result.Cell) bool) bool { return slices.ContainsFunc(run.Cells, f) }
	p.line(paint(p.styles.title, "Understanding this report"))
	entry := func(term, text string) {
		p.paragraph(padRight(term, 12), p.styles.dim, text, p.styles.dim)
	}
	if run.Environment.Unranked == "" {
		entry("● ○", "● is faster than all other engines, for sure. ○ leads: another one is equivalent or open, or was not measured. The time is total time over total operations.")
		entry("2.1 »", "times as long as the fastest at the same promise, of the rounds that both have, with its interval where there is room: 95 %, corrected for the number of comparisons with the fastest, and as wide as rounds and processes differ. » is surely more than twice as long, and was measured no further.")
		entry("= ~", fmt.Sprintf("= is equivalent to the fastest: the whole interval is within %.0f %%. ~ is open: neither that nor a difference is sure. A difference is at least %.0f %%, and the interval does not hold 1.", 100*stats.Margin, 100*stats.MinEffect))
	}
	if len(p.advices(run, airy)) > 0 {
		entry("For a ...", "the engine whose ratios, at the operations of that sort of program and at one promise, have the lowest geometric mean. For sure: it is the fastest at each of them. On the whole: at some another one is faster, or it is open, or there is no figure. No pick yet: it is open at more than half of them, or decided at none.")
	}
	if names := workloadNames(run.Cells); len(names) > 0 {
		entry("operations", fmt.Sprintf("assay workloads %s says what those of %s do.", names[0], names[0]))
	}
	if has(func(c result.Cell) bool { return c.Name() != c.Engine }) {
		entry("engine/form", "behind the slash is another way to do the operation on the engine than through package kv: assay workloads NAME explains the forms of a workload.")
	}
	tabled := p.options.All || run.Environment.Unranked != ""
	if tabled {
		entry("time/op", "of the fastest total time over total operations, of another one that times its ratio. ± is the 95 % interval; n=3 instead: too few rounds for one. The bar shows a ratio on a logarithmic scale.")
	}
	if tabled && has(func(c result.Cell) bool { return c.Floor != nil }) {
		entry("× floor", "time as a multiple of what the disk itself needs, measured in the same run.")
	}
	if tabled && has(func(c result.Cell) bool { return c.Latency != nil }) {
		entry("p50 p99 max", "half of the operations, 99 in 100, and all took at most so long. Empty: fewer than 10 operations took longer.")
	}
	if tabled && has(func(c result.Cell) bool { return c.Syncs != nil }) {
		entry("syncs/op", "counted, with the writes and the bytes written, in a short run on a file system that counts them. What mapped files hold in memory is not among them.")
	}
	if tabled && has(func(c result.Cell) bool { return !c.Ranked && c.Status == result.OK }) {
		entry("null", "stores nothing: the time is what the measurement itself costs. It is not ranked.")
	}
	var seen []string
	for _, t := range tables {
		if name := promiseName(t.Promise); !slices.Contains(seen, name) && t.Promise.Delivered != "read" {
			seen = append(seen, name)
		}
	}
	if len(seen) > 0 {
		entry("promises", "synced survives power loss; flushed survives kill -9; buffered survives neither. Intact: after power loss the store opens and holds a prefix of the commits. Engines are compared at the same promise only, because a weaker one is cheaper to keep.")
		p.proofEntries(tables)
	}
}

// proofEntries explains how well the promises were proved.
func (p *page) proofEntries(tables []result.Table) {
	for _, e := range []struct{ proof, text string }{
		{result.Proved, "the same engine, version and options went through so many crashes of assay prove - kill -9, power cuts, failing disks - and kept in each what it promises."},
		{result.Unproved, "what survives is what the engine's authors say: assay prove has not tried this version with these options, or not to the end."},
		{result.Disproved, "assay prove has seen this promise broken."},
	} {
		if slices.ContainsFunc(tables, func(t result.Table) bool {
			return t.Promise.Proof == e.proof &&
				t.Promise.Delivered != "read"
		}) {
			p.paragraph(padRight(e.proof, 12), p.styles.dim, e.text, p.styles.dim)
		}
	}
}
