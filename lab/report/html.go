package report

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/report/chart"
	"github.com/assaydb/assay/lab/result"
)

// HTML writes a run, a proof, or both, as one page that needs nothing else: no network, no other
// file. It says what the last screen of the report in words says, by the same functions, and shows
// every figure as a chart and a table. Either may be nil; source says where the proof is from.
func HTML(w io.Writer, run *result.Run, proof *result.Proof, source string, o Options) error {
	h := htmlPage{Index: o.Index}
	p := &page{options: o, width: endless}
	if run != nil {
		p.options.madeBy(run.Command)
		if err := h.ofRun(p, run); err != nil {
			return err
		}
	}
	if proof != nil {
		h.ofProof(p, proof, source, run == nil)
	}
	return h.document().Render(w)
}

//go:embed html.css
var htmlStyle string

//go:embed html.js
var htmlScript string

// endless is the width of a page that breaks no lines.
const endless = math.MaxInt32

// htmlPage is what html_nodes.go shows.
type htmlPage struct {
	Title, Headline, Command string
	Facts                    []htmlNote
	Verdicts                 []htmlVerdict
	Reading                  string // what the words of verdicts mean
	Doubts                   []htmlNote
	Legend                   string
	Engines                  []htmlEngine
	Promises, Traits         []htmlChoice
	Matrices                 []htmlMatrix
	Sections                 []htmlSection
	Costs, Growth            []htmlFigure
	Ungrown                  []htmlNote
	All                      htmlTable
	AllTitle, AllHow         string // of All, where it is not that of one run
	Index                    string // the address of the page with all runs, if there is one
	Proof                    *htmlProof
}

// htmlNote is a label and what it says, which may end in a command.
type htmlNote struct {
	Label, Text, Command string
	Warn                 bool
}

// htmlVerdict is which engine one kind of program should take.
type htmlVerdict struct {
	Subject, Text string
	Page          string // the address of the run that says so, if it has another page
	Picked        bool
	Notes         []htmlNote
}

// htmlEngine is an engine that can be filtered by.
type htmlEngine struct {
	Name   string
	Color  int
	Traits string // keys, separated by spaces
}

// htmlChoice is another thing to filter by.
type htmlChoice struct{ Key, Name string }

// htmlMatrix is the answer at one promise.
type htmlMatrix struct {
	Title, Promise string
	Table          htmlTable
}

// htmlSection is the charts of one workload at one promise.
type htmlSection struct {
	ID, Title, Promise, Proof string
	Figures                   []htmlFigure
	Notes                     []string
}

// htmlTable is a table that can be sorted and filtered.
type htmlTable struct {
	Name string
	Head []htmlHead
	Rows []htmlRow
}

type htmlHead struct {
	Text, Engine string
	Right        bool
}

// htmlRow is a line of a table; it is hidden with its engine or its promise, if it is of one.
type htmlRow struct {
	Engine, Promise string
	Cells           []htmlCell
}

// htmlCell is one value. Sort orders it in its column, where it is not the text that does.
type htmlCell struct {
	Text, Class, Engine, Link, Sort string
	Right                           bool
}

// ofRun fills the page from a run.
func (h *htmlPage) ofRun(p *page, run *result.Run) error {
	h.Command = commandOf(run)
	for _, f := range factsOf(run) {
		h.Facts = append(h.Facts, htmlNote{Label: f.label, Text: strings.Join(nonEmpty(f.items), " · ")})
	}
	h.engines(p, run)
	all := matrices(run)
	p.forms = formsOf(all)
	h.verdicts(p, run, all)
	for _, m := range all {
		h.Matrices = append(h.Matrices, p.htmlMatrix(m))
	}
	h.Legend = p.matrixLegend(all)
	figures := newFigures(p, run, h.Engines)
	if err := h.sections(figures); err != nil {
		return err
	}
	var err error
	if h.Costs, err = figures.costs(); err != nil {
		return err
	}
	if h.Growth, err = figures.growthFigures(); err != nil {
		return err
	}
	h.Ungrown = figures.ungrown()
	h.All = figures.all()
	return nil
}

// sentences returns the paragraphs that print writes, each in one line.
func (p *page) sentences(print func(*page)) []string {
	q := page{options: p.options, width: p.width, forms: p.forms}
	print(&q)
	return slices.DeleteFunc(q.lines, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// engines lists the engines of a run, their colours and what is known of them.
func (h *htmlPage) engines(p *page, run *result.Run) {
	seen := map[string]bool{}
	for i, name := range engineNames(run.Cells) {
		var f Facts
		if p.options.Facts != nil {
			f = p.options.Facts(scheme(run, name))
		}
		var traits []string
		for _, t := range []struct {
			has bool
			htmlChoice
		}{
			{f.Shared, htmlChoice{"shared", "several processes"}}, {f.File, htmlChoice{"file", "one file"}},
			{f.SQL, htmlChoice{"sql", "SQL on its file"}}, {f.PureGo, htmlChoice{"pure", "pure Go"}},
		} {
			if t.has {
				traits = append(traits, t.Key)
			}
			if t.has && !seen[t.Key] {
				seen[t.Key] = true
				h.Traits = append(h.Traits, t.htmlChoice)
			}
		}
		h.Engines = append(h.Engines, htmlEngine{name, i % chart.Colors, strings.Join(traits, " ")})
	}
	for _, t := range result.Tables(run.Cells) {
		c := htmlChoice{t.Promise.Label(), promiseName(t.Promise)}
		if !slices.Contains(h.Promises, c) {
			h.Promises = append(h.Promises, c)
		}
	}
}

// verdicts says which engine, at which promise, by how much and how sure: of each workload, what a
// run of it alone says.
func (h *htmlPage) verdicts(p *page, run *result.Run, all []matrix) {
	h.Title = "assay · " + started(run.Started)
	if len(all) == 0 {
		h.Headline = "Nothing was measured."
		return
	}
	for _, a := range p.advices(run, airy) {
		v := htmlVerdict{Subject: "For " + a.subject(), Text: a.text, Picked: a.picked}
		if !a.picked { // a terminal shows the figures right above
			a.add("as it looks: ", a.leads, 4)
		}
		for _, n := range a.notes {
			v.Notes = append(v.Notes, htmlNote{Label: strings.TrimSpace(n.label),
				Text: strings.Join(n.items, " · "), Warn: n.warn})
		}
		h.Verdicts = append(h.Verdicts, v)
	}
	h.Reading = reading(all)
	first := all[0]
	switch engine, n, races := first.leader(); {
	case len(h.Verdicts) == 1:
		h.Headline = h.Verdicts[0].Subject + ": " + h.Verdicts[0].Text
	case n > 0:
		h.Headline = fmt.Sprintf("%s: %s leads at %d of %s", promiseName(first.promise), engine, n,
			countOf(races, "operation"))
		if n < races {
			h.Headline += "; no engine is first at all of them"
		}
	default:
		h.Headline = promiseName(first.promise) + ": only " + strings.Join(first.engines, ", ")
	}
	for _, s := range p.sentences(func(q *page) {
		q.unprovedAmong(all)
		q.openLine(run, all, airy)
		q.failures(run)
		q.additions(run)
		q.notMeasured(run)
		q.doubts(run)
	}) {
		h.Doubts = append(h.Doubts, noteOf(s))
	}
}

// reading explains the words of verdicts to who meets them first.
func reading(all []matrix) string {
	var said []string
	for _, m := range all {
		if title := promiseTitle(m.promise); m.promise.Delivered != "read" && !slices.Contains(said, title) {
			said = append(said, title)
		}
	}
	said = append(said,
		"1.7x [1.3–2.4]: an engine takes 1.7 times as long, with the 95 % interval",
		"for sure: 95 % sure", "open: not decided")
	return strings.Join(said, " · ")
}

// noteOf splits "Open: 3 of 20 comparisons → assay run ..." into its parts.
func noteOf(s string) htmlNote {
	text, command, _ := strings.Cut(s, " → ")
	if !strings.HasPrefix(command, "assay ") {
		text, command = s, ""
	}
	return htmlNote{Text: text, Command: command}
}

// htmlMatrix returns a matrix as a table: operations down, engines across.
func (p *page) htmlMatrix(m matrix) htmlMatrix {
	out := htmlMatrix{Title: promiseTitle(m.promise), Promise: m.promise.Label()}
	if m.promise.Proof != "" && m.promise.Delivered != "read" {
		out.Title += " · " + m.promise.Proof
	}
	out.Table.Name = "answer at " + promiseName(m.promise)
	out.Table.Head = []htmlHead{{Text: "operation"}}
	for _, e := range m.engines {
		out.Table.Head = append(out.Table.Head, htmlHead{Text: e, Engine: e, Right: true})
	}
	for _, r := range m.races {
		row := htmlRow{Cells: []htmlCell{{Text: r.label, Link: figureID(r.rows[0].cell)}}}
		for _, e := range m.engines {
			row.Cells = append(row.Cells, p.htmlMatrixCell(r, r.of(e), e))
		}
		out.Table.Rows = append(out.Table.Rows, row)
	}
	return out
}

var standingClasses = map[standing]string{fastest: "best", leads: "tie", equivalent: "tie", open: "open", failed: "bad",
	skipped: "dim"}

// htmlMatrixCell returns what a terminal shows of an engine in a race, with bounds.
func (p *page) htmlMatrixCell(r race, x *row, engine string) htmlCell {
	c := htmlCell{Text: p.matrixCell(r, x, gridOptions{intervals: true, bounds: true}).text, Engine: engine,
		Right: true}
	c.Class = standingClasses[r.standing(x)]
	if x != nil && x.cell.Ratio != nil {
		c.Sort = fmt.Sprint(x.cell.Ratio.Mid)
	}
	return c
}

// dataColors returns the style that gives data its colours, light ones on a dark page.
func dataColors() string {
	var light, dark, dots strings.Builder
	for i := range chart.Colors {
		fmt.Fprintf(&dots, ".d%d{background:var(--d%d)}", i, i)
		fmt.Fprintf(&light, "--d%d:%s;", i, chart.Color(i))
		fmt.Fprintf(&dark, "--d%d:color-mix(in srgb, %s 62%%, white);", i, chart.Color(i))
	}
	return fmt.Sprintf("\n:root{%s}\n@media screen and (prefers-color-scheme: dark){:root{%s}}\n%s\n", light.String(),
		dark.String(), dots.String())
}
