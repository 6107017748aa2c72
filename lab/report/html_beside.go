package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// Kept is a result that stands beside others: a run, a proof, or both.
type Kept struct {
	Name  string // "laptop", unique among them
	Page  string // the address of its own page, "" if there is none
	Run   *result.Run
	Proof *result.Proof // its own, nil if there is none
}

// Beside writes several results as one page, like [HTML]: where each was measured, what each says,
// who is fastest in some and not in others, and all ratios beside each other. No time is set
// against a time of another machine: each ratio is to the fastest of its own run.
func Beside(w io.Writer, title string, all []Kept, o Options) error {
	p := &page{options: o, width: endless}
	h := htmlPage{Title: title, Headline: title}
	b := beside{of: map[besideKey]map[string]besideRow{}}
	var runs []Kept
	together := result.Run{}
	for _, k := range all {
		if k.Run == nil {
			h.Verdicts = append(h.Verdicts, verdictOfProof(p, k))
			continue
		}
		h.Verdicts = append(h.Verdicts, verdictOf(p, k))
		b.add(k)
		runs = append(runs, k)
		together.Cells = append(together.Cells, k.Run.Cells...)
	}
	h.sayOnce()
	h.engines(p, &together)
	h.Doubts = b.differences(runs)
	h.All = b.table(runs)
	h.AllTitle = "Beside each other"
	h.AllHow = "How many times as long as the fastest of the same run, with the 95 % interval, and the time. " +
		"Bold is the fastest, green no slower than it, brown not decided. Empty is not measured."
	return h.document().Render(w)
}

// verdictOf says in words what a run says, and where it was measured.
func verdictOf(p *page, k Kept) htmlVerdict {
	own := &page{options: p.options, width: p.width}
	own.options.madeBy(k.Run.Command)
	var h htmlPage
	matrices := matrices(k.Run)
	own.forms = formsOf(matrices)
	h.verdicts(own, k.Run, matrices)
	v := htmlVerdict{Subject: k.Name, Text: h.Headline, Page: k.Page, Picked: true}
	if k.Run.Interrupted {
		v.Notes = append(v.Notes, htmlNote{Text: "interrupted", Warn: true})
	}
	for _, f := range factsOf(k.Run) {
		v.Notes = append(v.Notes, htmlNote{Label: f.label, Text: strings.Join(nonEmpty(f.items), " · ")})
	}
	return v
}

// verdictOfProof says in words what a proof says, and where it was made.
func verdictOfProof(p *page, k Kept) htmlVerdict {
	var h htmlPage
	h.ofProof(&page{options: p.options, width: p.width}, k.Proof, "", true)
	return htmlVerdict{Subject: k.Name, Text: strings.Join(h.Proof.Said, " "), Page: k.Page, Picked: true, Notes: h.Facts}
}

// sayOnce moves what all runs say of where they were measured to the end of the page.
func (h *htmlPage) sayOnce() {
	if len(h.Verdicts) < 2 {
		return
	}
	for _, n := range h.Verdicts[0].Notes {
		without := func(v htmlVerdict) bool { return !slices.Contains(v.Notes, n) }
		if n.Warn || slices.ContainsFunc(h.Verdicts, without) {
			continue
		}
		h.Facts = append(h.Facts, n)
	}
	for i := range h.Verdicts {
		h.Verdicts[i].Notes = slices.DeleteFunc(h.Verdicts[i].Notes,
			func(n htmlNote) bool { return slices.Contains(h.Facts, n) })
	}
}

// besideKey is a line of the table.
type besideKey struct {
	operation, promise, label, engine string
}

// beside is the races of several runs.
type beside struct {
	keys []besideKey
	of   map[besideKey]map[string]besideRow // by the name of the run
}

// besideRow is what one run says of a line.
type besideRow struct {
	*row
	standing standing
}

func (b *beside) add(k Kept) {
	for _, m := range matrices(k.Run) {
		for _, r := range m.races {
			for i := range r.rows {
				x := &r.rows[i]
				promise := m.promise
				if x.cell.Promise.Delivered == "read" { // it stands among the commits of its program
					promise = x.cell.Promise
				}
				key := besideKey{operationOf(x.cell), promiseName(promise), promise.Label(), x.cell.Name()}
				if b.of[key] == nil {
					b.of[key] = map[string]besideRow{}
					b.keys = append(b.keys, key)
				}
				b.of[key][k.Name] = besideRow{x, r.standing(x)}
			}
		}
	}
}

// operationOf names what a cell measured.
func operationOf(c *result.Cell) string {
	name := c.Workload + " " + c.Operation
	if c.Params != "" {
		name += " " + c.Params
	}
	return name
}

// race is a line without its engine.
func (k besideKey) race() besideKey { return besideKey{operation: k.operation, promise: k.promise} }

// differences tells where one engine is the fastest for sure in one run, and another one in
// another.
func (b *beside) differences(all []Kept) (notes []htmlNote) {
	firsts := map[besideKey]map[string]string{} // the fastest for sure, by run
	var races []besideKey
	for _, key := range b.keys {
		for name, x := range b.of[key] {
			if x.standing != fastest {
				continue
			}
			if firsts[key.race()] == nil {
				firsts[key.race()] = map[string]string{}
				races = append(races, key.race())
			}
			firsts[key.race()][name] = x.cell.Name()
		}
	}
	for _, race := range races {
		var parts, engines []string
		for _, k := range all {
			if engine := firsts[race][k.Name]; engine != "" {
				parts = append(parts, fmt.Sprintf("%s in %s", engine, k.Name))
				own, _, _ := strings.Cut(engine, "/") // another form of it is no other engine
				engines = append(engines, own)
			}
		}
		if slices.Sort(engines); len(slices.Compact(engines)) > 1 {
			notes = append(notes, htmlNote{Text: fmt.Sprintf("%s, %s: first is %s", race.operation, race.promise,
				strings.Join(parts, ", "))})
		}
	}
	slices.SortFunc(notes, func(x, y htmlNote) int { return cmp.Compare(x.Text, y.Text) })
	return notes
}

// table has a line for each operation, promise and engine, and a column for each run.
func (b *beside) table(all []Kept) htmlTable {
	t := htmlTable{Name: "all runs", Head: []htmlHead{{Text: "operation"}, {Text: "promise"}, {Text: "engine"}}}
	for _, k := range all {
		t.Head = append(t.Head, htmlHead{Text: k.Name, Right: true})
	}
	for _, key := range b.keys {
		engine, _, _ := strings.Cut(key.engine, "/")
		line := htmlRow{Engine: engine, Promise: key.label,
			Cells: []htmlCell{{Text: key.operation}, {Text: key.promise}, {Text: key.engine}}}
		for _, k := range all {
			line.Cells = append(line.Cells, b.of[key][k.Name].cellOf())
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// cellOf is what one run says of a line, in colour as its own page has it.
func (x besideRow) cellOf() htmlCell {
	c := htmlCell{Right: true}
	switch {
	case x.row == nil || x.cell.Status == result.Skipped:
		return c
	case x.cell.Status == result.Failed:
		c.Text = "failed"
	case x.cell.NS == nil:
	case x.cell.Ratio == nil:
		c.Text = duration(x.cell.NS.Mid)
	case x.cell.Ratio.Mid == 1:
		c.Text, c.Sort = "1 · "+duration(x.cell.NS.Mid), "1"
	case x.few:
		c.Text, c.Sort = stats.Factor(x.cell.Ratio.Mid)+" · "+duration(x.cell.NS.Mid), fmt.Sprint(x.cell.Ratio.Mid)
	default:
		r := x.cell.Ratio
		c.Sort = fmt.Sprint(r.Mid)
		c.Text = fmt.Sprintf("%s [%s–%s] · %s", stats.Factor(r.Mid), stats.Factor(r.Lo), stats.Factor(r.Hi), duration(x.cell.NS.Mid))
	}
	c.Class = standingClasses[x.standing]
	return c
}
