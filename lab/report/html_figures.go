package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/assaydb/assay/lab/report/chart"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// htmlFigure is a chart with its table, how to read it, and the command that measures it again.
type htmlFigure struct {
	ID, Title    string
	Alone        string    // its title in a file of its own, where that says more
	Chart        string    // an element of the page
	Legend       []htmlKey // where the chart does not name its colours
	Notes        []string  // what a reader of the chart must know
	How, Command string
	Promise      string // where the figure is of one, and its section of several
	Table        htmlTable
	drawing      *chart.Chart
}

// htmlKey is what a colour and a line of a chart stand for: an engine, or a form of it.
type htmlKey struct {
	Engine string
	chart.Key
}

// caption is what a file of the figure's own says around the drawing.
func (f htmlFigure) caption() chart.Caption {
	c := chart.Caption{Title: cmp.Or(f.Alone, f.Title)}
	for _, k := range f.Legend {
		c.Keys = append(c.Keys, k.Key)
	}
	return c
}

// figures draws the charts of a run.
type figures struct {
	p      *page
	run    *result.Run
	tables []result.Table
	colors map[string]int
	legend []htmlEngine
}

func newFigures(p *page, run *result.Run, engines []htmlEngine) *figures {
	f := &figures{p: p, run: run, tables: result.Tables(run.Cells), colors: map[string]int{}, legend: engines}
	for _, e := range engines {
		f.colors[e.Name] = e.Color
	}
	return f
}

// figureID returns the name of the chart of a cell's operation: "hook-put-synced-intact".
func figureID(c *result.Cell) string {
	name := c.Workload + " " + c.Params + " " + operationName(c) + " " + c.Promise.Label()
	if c.Promise.Proof == result.Disproved {
		name += " " + c.Promise.Proof // a promise of its own
	}
	return slug(name)
}

// slug makes s a part of a link and of a file's name.
func slug(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') &&
			(r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}

// engineKeys names the engines alone.
func (f *figures) engineKeys() []htmlKey {
	var all []htmlKey
	for _, e := range f.legend {
		all = append(all, htmlKey{e.Name, chart.Key{Name: e.Name, Color: e.Color}})
	}
	return all
}

// curve is the line of a contender in a figure, whose legend says so: the first of an engine is
// whole.
func (f *figures) curve(figure *htmlFigure, c *result.Cell, values []float64) chart.Curve {
	line := 0
	for _, k := range figure.Legend {
		if k.Engine == c.Engine {
			line++
		}
	}
	color := f.colors[c.Engine]
	figure.Legend = append(figure.Legend, htmlKey{c.Engine, chart.Key{Name: c.Name(), Color: color, Line: line}})
	return chart.Curve{Color: color, Values: values, Line: line}
}

// with completes a figure: the drawing becomes a part of the page.
func (f htmlFigure) with(drawing *chart.Chart) (htmlFigure, error) {
	inline, err := drawing.Inline(f.Title)
	f.drawing, f.Chart, f.Table.Name = drawing, inline, f.Title
	return f, err
}

// again returns the command that measures works again, at the promise of c.
func (f *figures) again(works []string, c *result.Cell) string {
	class := ""
	if c != nil && c.Promise.Delivered != "read" {
		class = c.Promise.Delivered
	}
	return measureCommand(f.run, works, nil, class, budgetFor(f.run, len(works)))
}

// sections returns a section for each workload and promise, with two charts for each operation: how
// long it takes, and how that is spread.
func (h *htmlPage) sections(f *figures) error {
	for _, t := range f.tables {
		s := htmlSection{ID: slug(tableName(t)), Title: tableName(t), Promise: t.Promise.Label(),
			Proof: proof(f.run.Cells, t)}
		var rows []row
		for _, g := range t.Groups {
			group := groupRows(f.run.Cells, g)
			rows = append(rows, group...)
			for _, draw := range []func([]row) (htmlFigure, bool, error){f.bars, f.curves} {
				figure, drawn, err := draw(group)
				if err != nil {
					return err
				}
				if drawn {
					s.Figures = append(s.Figures, figure)
				}
			}
		}
		for _, n := range tableNotes(rows) {
			s.Notes = append(s.Notes, fmt.Sprintf("%s %s: %s", strings.Join(n.names, ", "),
				strings.Join(n.operations, ", "), n.text))
		}
		h.Sections = append(h.Sections, s)
	}
	return nil
}

// bars draws how long an operation takes.
func (f *figures) bars(rows []row) (htmlFigure, bool, error) {
	var bars []chart.Bar
	var c *result.Cell
	floor := 0.0
	table := htmlTable{Head: heads("engine", "time/op", "from", "to", "vs fastest", "× floor", "rounds")}
	for _, r := range rows {
		if r.cell.Status != result.OK || r.cell.NS == nil {
			continue
		}
		table.Rows = append(table.Rows, timeRow(r))
		if !r.cell.Ranked {
			continue
		}
		if c == nil {
			c = r.cell
		}
		if m := r.cell.Floor; m != nil && *m > 0 {
			floor = r.cell.NS.Mid / *m
		}
		bar := chart.Bar{Name: r.cell.Name(), Color: f.colors[r.cell.Engine], Value: r.cell.NS.Mid,
			Label: duration(r.cell.NS.Mid)}
		if !r.few {
			bar.Lo, bar.Hi = r.cell.NS.Lo, r.cell.NS.Hi
		}
		if ratio := strings.TrimSpace(ratioOf(r)); ratio != "" && !isBest(r.cell) {
			ratio, _, _ = strings.Cut(ratio, " [")
			bar.Label += " · " + strings.TrimSpace(ratio)
		}
		bars = append(bars, bar)
	}
	if c == nil {
		return htmlFigure{}, false, nil
	}
	drawing, err := chart.Bars(bars, floor, chart.Axis{Print: duration})
	if err != nil {
		return htmlFigure{}, false, err
	}
	figure := htmlFigure{ID: figureID(c), Title: c.Workload + " " + operationName(c) + ": time per operation",
		Alone:   work(c) + ": time per operation, " + promiseName(c.Promise),
		Command: f.again([]string{work(c)}, c), Table: table,
		How: "Shorter is better. The bar is the time of an operation, the thin line its 95 % interval; behind it the ratio to the fastest: = is equivalent, ~ is open."}
	if floor > 0 {
		figure.How += " The dashed line is what the disk itself needs for such an operation: " + duration(floor) + "."
	}
	if slices.ContainsFunc(bars, func(b chart.Bar) bool { return b.Value > chart.Scale(bars, floor) }) {
		figure.How += " A bar before → is cut: it is longer than the scale."
	}
	figure, err = figure.with(drawing)
	return figure, true, err
}

// dashedLines says what a legend means by a dashed line.
const dashedLines = "Dashed lines are other forms of an engine, as the legend names them."

// timeRow is a line of the table of bars.
func timeRow(r row) htmlRow {
	c := r.cell
	line := htmlRow{Engine: c.Engine, Cells: []htmlCell{{Text: c.Name()}, numeric(&c.NS.Mid, duration),
		numeric(&c.NS.Lo, duration), numeric(&c.NS.Hi, duration),
		{Text: strings.TrimSpace(ratioOf(r)), Right: true}, numeric(c.Floor, stats.Factor), whole(len(c.Samples))}}
	if c.Ratio != nil {
		line.Cells[4].Sort = fmt.Sprint(c.Ratio.Mid)
	}
	if r.few {
		line.Cells[2], line.Cells[3] = numeric(nil, duration), numeric(nil, duration)
	}
	if isBest(c) {
		line.Cells[0].Class, line.Cells[1].Class = "best", "best"
	}
	return line
}

// percentile is one of the times of single operations.
type percentile struct {
	name string
	of   func(*result.Latency) int64
}

// percentiles are those of a curve; of the longest time of all, engines that were measured more
// often have the longer.
var percentiles = []percentile{
	{"p50", func(l *result.Latency) int64 { return l.P50 }},
	{"p90", func(l *result.Latency) int64 { return l.P90 }},
	{"p99", func(l *result.Latency) int64 { return l.P99 }},
	{"p99.9", func(l *result.Latency) int64 { return l.P999 }},
	{"max", func(l *result.Latency) int64 { return l.Max }},
}

// percentileCells returns the percentiles of a distribution as those of a table.
func percentileCells(l *result.Latency) []htmlCell {
	all := make([]htmlCell, len(percentiles))
	for i, p := range percentiles {
		all[i].Right = true
		if l != nil && p.of(l) > 0 {
			v := float64(p.of(l))
			all[i] = numeric(&v, duration)
		}
	}
	return all
}

// curves draws how the times of single operations are spread, of engines of which two percentiles
// are known.
func (f *figures) curves(rows []row) (htmlFigure, bool, error) {
	drawn := percentiles[:len(percentiles)-1]
	var names []string
	for _, p := range drawn {
		names = append(names, p.name)
	}
	var curves []chart.Curve
	var c *result.Cell
	var figure htmlFigure
	var few []string
	table := htmlTable{Head: heads(append(append([]string{"engine"}, names...), "max")...)}
	for _, r := range rows {
		l := r.cell.Latency
		if !r.cell.Ranked || r.cell.Status != result.OK {
			continue
		}
		if l == nil || l.P90 == 0 {
			few = append(few, r.cell.Name())
			continue
		}
		c = r.cell
		var values []float64
		for _, p := range drawn {
			values = append(values, float64(p.of(l)))
		}
		curves = append(curves, f.curve(&figure, c, values))
		table.Rows = append(table.Rows, htmlRow{Engine: c.Engine,
			Cells: append([]htmlCell{{Text: c.Name()}}, percentileCells(l)...)})
	}
	if c == nil {
		return htmlFigure{}, false, nil
	}
	drawing, err := chart.Curves(names, curves, chart.Axis{Print: duration})
	if err != nil {
		return htmlFigure{}, false, err
	}
	if len(few) > 0 {
		figure.Notes = []string{"Too few operations for percentiles: " + strings.Join(few, ", ")}
	}
	figure.ID, figure.Title = figureID(c)+"-latency", c.Workload+" "+operationName(c)+": latency"
	figure.Alone = work(c) + ": latency, " + promiseName(c.Promise)
	figure.Command, figure.Table = f.again([]string{work(c)}, c), table
	figure.How = "Lower is better. So many of 100 operations took at most so long, on a logarithmic scale. A line ends where fewer than 10 operations took longer. " + dashedLines
	figure, err = figure.with(drawing)
	return figure, true, err
}

func heads(names ...string) []htmlHead {
	all := make([]htmlHead, len(names))
	for i, name := range names {
		all[i] = htmlHead{Text: name, Right: i > 0}
	}
	return all
}

// numeric returns a number, nothing if v is nil.
func numeric(v *float64, print func(float64) string) htmlCell {
	if v == nil {
		return htmlCell{Right: true}
	}
	return htmlCell{Text: print(*v), Sort: strconv.FormatFloat(*v, 'g', 8, 64), Right: true}
}

func whole(n int) htmlCell { v := float64(n); return numeric(&v, count) }
