package report

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assaydb/assay/lab/report/chart"
	"github.com/assaydb/assay/lab/result"
)

// growth is one operation that a run has several times, where all is alike but one number: records
// in the store, or how many do it at once.
type growth struct {
	workload, operation string
	others              string // the parameters that stay
	by                  string // the parameter that changes; "" is a number in the operation's name
	promise             result.Promise
	points              []growthPoint // from the least number on
}

// growthPoint is the operation at one number.
type growthPoint struct {
	value float64
	text  string
	group result.Group
}

// numbered is an operation whose name ends with how many do it at once.
var numbered = regexp.MustCompile(`^(.+)_(\d+)$`)

// growths returns those of a run, in the order of its tables.
func (f *figures) growths() []growth {
	var all []growth
	add := func(g growth, p growthPoint) {
		i := slices.IndexFunc(all, func(o growth) bool {
			return o.workload == g.workload && o.operation == g.operation && o.others == g.others && o.by == g.by &&
				o.promise.Same(g.promise)
		})
		if i < 0 {
			i = len(all)
			all = append(all, g)
		}
		all[i].points = append(all[i].points, p)
	}
	for _, t := range f.tables {
		for _, group := range t.Groups {
			c := &f.run.Cells[group.Cells[0]]
			if !c.Ranked {
				continue
			}
			g := growth{workload: t.Workload, operation: group.Operation, promise: t.Promise}
			parts := strings.Split(t.Params, "&")
			for i, part := range parts {
				name, text, _ := strings.Cut(part, "=")
				if value, ok := wholeNumber(text); ok {
					g.by, g.others = name, strings.Join(slices.Delete(slices.Clone(parts), i, i+1), "&")
					add(g, growthPoint{value, text, group})
				}
			}
			g.by, g.others = "", t.Params
			if m := numbered.FindStringSubmatch(group.Operation); m != nil && m[2] == strconv.Itoa(c.Workers) {
				g.operation = m[1]
			} else if c.Workers != 1 {
				continue
			}
			add(g, growthPoint{float64(c.Workers), strconv.Itoa(c.Workers), group})
		}
	}
	all = slices.DeleteFunc(all, func(g growth) bool { return len(g.points) < 2 })
	for _, g := range all {
		slices.SortStableFunc(g.points, func(a, b growthPoint) int { return cmp.Compare(a.value, b.value) })
	}
	return all
}

// wholeNumber reads 16, 10k or 1M.
func wholeNumber(text string) (float64, bool) {
	digits, unit := text, 1.0
	for suffix, n := range map[string]float64{"k": 1e3, "M": 1e6} {
		if d, ok := strings.CutSuffix(text, suffix); ok {
			digits, unit = d, n
		}
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return float64(n) * unit, err == nil
}

// crowd reports whether the number is how many do it at once.
func (f *figures) crowd(g growth) bool {
	return !slices.ContainsFunc(g.points, func(p growthPoint) bool {
		return float64(f.run.Cells[p.group.Cells[0]].Workers) != p.value
	})
}

// growthFigures draws them: of those that are done by several at once the throughput, of the others
// the time of an operation, and of each workload's first the time to open.
func (f *figures) growthFigures() ([]htmlFigure, error) {
	var all []htmlFigure
	growths := f.growths()
	opened := f.opened(growths)
	for i, g := range growths {
		name := g.workload + " " + g.operation
		if g.others != "" {
			name += "?" + g.others
		}
		draw := func(kind, title, how string, print func(float64) string, of func(*result.Cell) *float64) error {
			figure, drawn, err := f.line(g, print, of)
			if err != nil || !drawn {
				return err
			}
			figure.ID = slug(strings.Join([]string{"growth", kind, name, g.by, g.promise.Label()}, " "))
			figure.Title = name + ": " + title
			if g.promise.Delivered != "read" {
				figure.Title += ", " + promiseName(g.promise)
			}
			figure.How = how + " The scale is logarithmic. " + dashedLines
			figure, err = figure.with(figure.drawing)
			all = append(all, figure)
			return err
		}
		if f.crowd(g) {
			what := "writers"
			switch {
			case strings.Contains(g.operation, "process"):
				what = "processes"
			case g.by != "writers":
				what = "workers"
			}
			err := draw("throughput", "throughput against "+what,
				"Higher is better: operations a second of all "+what+" together. A line that rises gains by more "+what+".",
				perSecond, func(c *result.Cell) *float64 { v := 1e9 / c.NS.Mid; return &v })
			if err != nil {
				return nil, err
			}
			continue
		}
		err := draw("time", "time against "+g.by,
			"Lower is better: the time of an operation. A line that is level costs the same whatever the number of "+g.by+" is.",
			duration, func(c *result.Cell) *float64 { return &c.NS.Mid })
		if err != nil {
			return nil, err
		}
		if opened[i] {
			err := draw("open", "time to open against "+g.by, "Lower is better: one open of the loaded store.", duration,
				bytesOf(func(c *result.Cell) *int64 { return c.Open }))
			if err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// opened returns which growths tell of opening: of those of one workload by one number, the one
// that has the most points.
func (f *figures) opened(all []growth) map[int]bool {
	most := map[string]int{}
	for i, g := range all {
		load := g.workload + "?" + g.others + "&" + g.by
		if m, seen := most[load]; !f.crowd(g) && (!seen || len(g.points) > len(all[m].points)) {
			most[load] = i
		}
	}
	chosen := map[int]bool{}
	for _, i := range most {
		chosen[i] = true
	}
	return chosen
}

func perSecond(v float64) string { return count(v) + "/s" }

// line draws what is known of each contender at two numbers or more.
func (f *figures) line(g growth, print func(float64) string, of func(*result.Cell) *float64) (htmlFigure, bool, error) {
	var names, contenders []string
	values := map[string][]float64{}
	cells := map[string]*result.Cell{}
	var missing missingPoints
	table := htmlTable{Head: []htmlHead{{Text: "engine"}}}
	for i, p := range g.points {
		names = append(names, p.text)
		table.Head = append(table.Head, htmlHead{Text: p.text, Right: true})
		for _, at := range p.group.Cells {
			c := &f.run.Cells[at]
			if c.Ranked && c.Status != result.OK {
				missing.add(p.text, c)
			}
			if !c.Ranked || c.Status != result.OK || c.NS == nil || c.NS.Mid <= 0 || of(c) == nil {
				continue
			}
			if values[c.Name()] == nil {
				values[c.Name()] = make([]float64, len(g.points))
				cells[c.Name()] = c
				contenders = append(contenders, c.Name())
			}
			values[c.Name()][i] = *of(c)
		}
	}
	slices.SortStableFunc(contenders, func(a, b string) int { // what has no form of its own is drawn first
		return cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/"))
	})
	var curves []chart.Curve
	figure := htmlFigure{Promise: g.promise.Label(), Command: f.growthCommand(g), Notes: missing.text()}
	for _, name := range contenders {
		row := htmlRow{Engine: cells[name].Engine, Cells: []htmlCell{{Text: name}}}
		known := 0
		for _, v := range values[name] {
			if cell := (htmlCell{Right: true}); v == 0 {
				row.Cells = append(row.Cells, cell)
				continue
			}
			known++
			row.Cells = append(row.Cells, numeric(&v, print))
		}
		table.Rows = append(table.Rows, row)
		if known > 1 {
			curves = append(curves, f.curve(&figure, cells[name], values[name]))
		}
	}
	if len(curves) == 0 {
		return figure, false, nil
	}
	figure.Table = table
	var err error
	figure.drawing, err = chart.Curves(names, curves, chart.Axis{Print: print})
	return figure, true, err
}

// missingPoints is why lines have no point at some numbers.
type missingPoints []missingPoint

type missingPoint struct {
	at, names []string
	why       string
}

func (m *missingPoints) add(at string, c *result.Cell) {
	why := oneLine(cmp.Or(c.Error, "no reason was given"))
	i := slices.IndexFunc(*m, func(o missingPoint) bool { return o.at[0] == at && o.why == why })
	if i < 0 {
		i, *m = len(*m), append(*m, missingPoint{at: []string{at}, why: why})
	}
	(*m)[i].names = append((*m)[i].names, c.Name())
}

// text returns a sentence for the numbers that the same contenders lack for the same reason: "Not
// at 1M, 10M: bbolt, sqlite: no time was left for it".
func (m missingPoints) text() (all []string) {
	var merged missingPoints
	for _, p := range m {
		same := func(o missingPoint) bool { return o.why == p.why && slices.Equal(o.names, p.names) }
		i := slices.IndexFunc(merged, same)
		if i < 0 {
			merged = append(merged, p)
		} else {
			merged[i].at = append(merged[i].at, p.at...)
		}
	}
	for _, p := range merged {
		all = append(all, "Not at "+strings.Join(p.at, ", ")+": "+strings.Join(p.names, ", ")+": "+p.why)
	}
	return all
}

// growthCommand measures all points again.
func (f *figures) growthCommand(g growth) string {
	var works []string
	var c *result.Cell
	for _, p := range g.points {
		c = &f.run.Cells[p.group.Cells[0]]
		works = append(works, work(c))
	}
	class := ""
	if g.promise.Delivered != "read" {
		class = g.promise.Delivered
	}
	if g.by != "" { // one argument has them all
		var texts []string
		for _, p := range g.points {
			texts = append(texts, p.text)
		}
		params := g.by + "=" + strings.Join(texts, ",")
		if g.others != "" {
			params = g.others + "&" + params
		}
		works = []string{g.workload + "/" + g.operation + "?" + params}
	}
	return measureCommand(f.run, works, nil, class, budgetFor(f.run, len(g.points)))
}

// ungrown are commands that measure what a run has nothing of.
func (f *figures) ungrown() []htmlNote {
	crowd, size := false, false
	for _, g := range f.growths() {
		if f.crowd(g) {
			crowd = true
		} else {
			size = true
		}
	}
	var all []htmlNote
	add := func(text string, works ...string) {
		all = append(all, htmlNote{Text: text, Command: measureCommand(f.run, works, nil, "", 10*time.Minute)})
	}
	if !crowd {
		add("Throughput against writers and against processes was not measured", "events/append_parallel?writers=1,2,4,8,16",
			"hook/processes?n=1,2,4,8,16")
	}
	if !size {
		add("Cost and opening against the size of the store were not measured", "ycsb/A,C?records=10k,100k,1M")
	}
	return all
}
