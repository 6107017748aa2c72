package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// Comparison writes what changed between two runs: the cells that differ, all of them if asked for,
// and how many there are of each kind.
func Comparison(w io.Writer, c *result.Comparison, old, now *result.Run, all bool, o Options) error {
	p := page{options: o, width: o.widthFrom(narrowest), styles: newStyles(o)}
	p.runLine("old", c.Old, old)
	p.runLine("new", c.New, now)
	p.machines(old.Environment, now.Environment)
	p.blank()
	var rows [][]gridCell
	numbers := map[string]int{}
	counted, alone := 0, 0
	for _, kind := range []string{result.Slower, result.Faster, result.Undecided, result.Same} {
		for _, change := range c.Changes {
			if change.Time != kind {
				continue
			}
			numbers[kind]++
			if change.Beside == "" {
				alone++
			}
			if kind == result.Slower || kind == result.Faster || all {
				rows = append(rows, p.changeRow(change))
			}
			for _, n := range change.Counts {
				if n.Changed() {
					counted++
					rows = append(rows, p.countRow(change, n))
				}
			}
		}
	}
	if len(rows) > 0 {
		p.gridByOperation([]gridColumn{{name: "operation"}, {name: "engine"}, {name: "beside"},
			{name: "old", right: true}, {name: "new", right: true}, {name: ""}}, rows, "beside")
		p.blank()
	}
	p.wholes(c.Wholes)
	p.losses(c.Lost)
	text := fmt.Sprintf("%s compared: %d slower, %d faster, %d equivalent, %d open", countOf(len(c.Changes), "timing"),
		numbers[result.Slower], numbers[result.Faster],
		numbers[result.Same], numbers[result.Undecided])
	p.paragraph("", p.styles.plain, text+fmt.Sprintf("; %s changed.", someOf(counted, "count")), p.styles.plain)
	if len(rows) > 0 {
		p.paragraph("", p.styles.plain, "old and new: times as long as the engine beside it, in the same rounds of the same run; then the new ratio by the old one, with its 99 % interval.", p.styles.dim)
	}
	switch open := numbers[result.Undecided]; {
	case alone > 0:
		p.paragraph("Open: ", p.styles.warn, fmt.Sprintf("%d stand beside no other engine in both runs, or in too few rounds, so that it may be the machine → measure longer, with engines that did not change", alone), p.styles.plain)
	case open > 0:
		text := fmt.Sprintf("%d of %d", open, len(c.Changes))
		if !all {
			text += " (--all lists them)"
		}
		p.toType("Open: ", text+"; both again", evenCommand(now))
	}
	for _, text := range c.Crossed {
		p.paragraph("✗ ", p.styles.bad, text, p.styles.bad)
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// evenCommand returns the command that measures a run again so that its ratios are known as well as
// a comparison of runs needs them.
func evenCommand(run *result.Run) string {
	words := slices.Clone(run.Command)
	if len(words) < 2 {
		words = []string{"assay", "run"}
	}
	words[0] = programOf(words)
	for i, w := range words {
		words[i] = quote(w)
	}
	budget := budgetText(budgetOf(max(10*time.Minute, 4*run.Took)))
	return strings.Join(append(words, "--even --budget", budget, "--out DIR"), " ")
}

// wholes lists what became of each contender at all its operations together.
func (p *page) wholes(all []result.Whole) {
	if len(all) == 0 {
		return
	}
	rows := make([][]gridCell, len(all))
	for i, w := range all {
		text, style := p.changeText(w.Time, &w.Times)
		rows[i] = []gridCell{{text: w.Name()}, {text: fmt.Sprint(w.Operations)}, {text, style}}
	}
	p.gridByOperation([]gridColumn{{name: "all together"}, {name: "operations", right: true}, {name: ""}}, rows)
	p.blank()
}

// losses lists what only the old run measured.
func (p *page) losses(all []result.Loss) {
	skipped := 0
	for _, l := range all {
		if l.Skipped {
			skipped++
			continue
		}
		where := changeOperation(result.Change{Workload: l.Workload, Operation: l.Operation, Params: l.Params,
			Promise: l.Promise})
		p.paragraph("✗ ", p.styles.bad, where+" "+l.Name()+": "+oneLine(l.Why), p.styles.bad)
	}
	if skipped > 0 {
		p.paragraph("· ", p.styles.dim, countOf(skipped, "timing")+" of old not compared: skipped in new", p.styles.dim)
	}
	if len(all) > 0 {
		p.blank()
	}
}

// someOf is countOf that knows none.
func someOf(n int, what string) string {
	if n == 0 {
		return "no " + what
	}
	return countOf(n, what)
}

func (p *page) runLine(label, path string, run *result.Run) {
	e := run.Environment
	items := []string{path, started(run.Started), prefixed("assay ", e.Assay), strings.Replace(e.Go, "go", "Go ", 1),
		prefixed("took ", took(run.Took))}
	p.facts(label, items...)
}

// machines warns where two runs were made on different ones.
func (p *page) machines(old, now result.Environment) {
	var differ []string
	for _, f := range []struct{ name, old, now string }{
		{"processor", old.CPU, now.CPU}, {"disk", storage(old), storage(now)}, {"system", system(old), system(now)},
	} {
		if f.old != f.now {
			differ = append(differ, fmt.Sprintf("%s %s, was %s", f.name, f.now, f.old))
		}
	}
	for _, module := range slices.Sorted(maps.Keys(now.Modules)) {
		if was, both := old.Modules[module]; both && was != now.Modules[module] {
			differ = append(differ, fmt.Sprintf("%s, was %s",
				modules(map[string]string{module: now.Modules[module]})[0], was))
		}
	}
	if len(differ) > 0 {
		p.paragraph("⚠ ", p.styles.warn, strings.Join(differ, "; "), p.styles.warn)
	}
}

// changeOperation returns "hook put, synced".
func changeOperation(c result.Change) string {
	text := c.Workload + " " + c.Operation
	if c.Params != "" {
		text = c.Workload + "?" + c.Params + " " + c.Operation
	}
	if c.Promise != "read" {
		text += ", " + strings.TrimSuffix(c.Promise, "-intact")
	}
	return text
}

// changeRow returns the line of a time: its ratio to the other in both runs, and the quotient of
// both with its interval.
func (p *page) changeRow(c result.Change) []gridCell {
	text, style := p.changeText(c.Time, c.Times)
	line := []gridCell{{text: changeOperation(c)}, {text: c.Name()}, {text: c.Beside}, {}, {}, {text, style}}
	if c.Times != nil {
		line[3].text, line[4].text = stats.Factor(c.Before), stats.Factor(c.After)
	}
	return line
}

// changeText returns a verdict with its mark, its interval if there is one, and its style.
func (p *page) changeText(time string, times *result.Interval) (string, lipgloss.Style) {
	style := map[string]lipgloss.Style{result.Slower: p.styles.bad, result.Faster: p.styles.best,
		result.Undecided: p.styles.warn, result.Same: p.styles.dim}[time]
	mark := map[string]string{result.Slower: "✗ ", result.Faster: "✓ ", result.Undecided: "~ ",
		result.Same: "= "}[time]
	if times == nil {
		return mark + time, style
	}
	return fmt.Sprintf("%s%sx [%s–%s] %s", mark, stats.Factor(times.Mid), stats.Factor(times.Lo), stats.Factor(times.Hi), time), style
}

// countRow returns the line of a count that changed.
func (p *page) countRow(c result.Change, n result.Count) []gridCell {
	mark, style, text := "✗ ", p.styles.bad, "more "+n.Name
	if n.After < n.Before {
		mark, style, text = "✓ ", p.styles.best, "fewer "+n.Name
	}
	if n.Name == "written" {
		text = strings.Replace(strings.Replace(text, "fewer", "less", 1), "written", "is written", 1)
	}
	return []gridCell{{text: changeOperation(c)}, {text: c.Name()}, {text: "exact"}, {text: count(n.Before)},
		{text: count(n.After)}, {mark + text, style}}
}
