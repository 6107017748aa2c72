package report

import (
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/report/chart"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// figure is one thing that is known of a cell.
type figure struct {
	key, name string
	how       string
	print     func(float64) string
	of        func(*result.Cell) *float64
}

// bytes reports whether it is a size.
func (f figure) bytes() bool { return f.print(1024) == size(1024) }

// bytesOf makes a size a number.
func bytesOf(of func(*result.Cell) *int64) func(*result.Cell) *float64 {
	return func(c *result.Cell) *float64 {
		v := of(c)
		if v == nil {
			return nil
		}
		f := float64(*v)
		return &f
	}
}

func sized(of func(*result.Size) *int64) func(*result.Cell) *float64 {
	return bytesOf(func(c *result.Cell) *int64 {
		if c.Size == nil {
			return nil
		}
		return of(c.Size)
	})
}

// costFigures are what engines need beside time.
var costFigures = []figure{
	{"cpu", "processor time per operation", "All threads of the engine's process, its background work included.",
		duration, func(c *result.Cell) *float64 { return c.CPU }},
	{"allocs", "allocations per operation", "Allocations of memory on Go's heap, where one process does the operation.", count,
		func(c *result.Cell) *float64 { return c.Allocs }},
	{"alloc-bytes", "bytes allocated per operation", "Bytes allocated on Go's heap, where one process does the operation.", size,
		func(c *result.Cell) *float64 { return c.AllocBytes }},
	{"syncs", "syncs per operation", "Counted on a file system that counts; of operations that commit.", count,
		func(c *result.Cell) *float64 { return c.Syncs }},
	{"writes", "writes per operation", "Calls, and write-backs of mapped pages, counted as syncs are.", count,
		func(c *result.Cell) *float64 { return c.Writes }},
	{"written", "bytes written per operation", "Counted as syncs are; where that could not be done, what the system accounts to the process.", size, func(c *result.Cell) *float64 { return c.Written }},
	{"loaded", "size after load", "Space on disk when the store had been filled, before anything was measured.", size,
		sized(func(s *result.Size) *int64 { return s.Loaded })},
	{"churned", "size after the operations", "Space on disk when all had been measured.", size,
		sized(func(s *result.Size) *int64 { return s.Churned })},
	{"compacted", "size after compaction", "Space on disk after the engine gave back what it can.", size,
		sized(func(s *result.Size) *int64 { return s.Compacted })},
	{"memory", "peak memory", "The most that the engine's process took, Go's runtime and the harness included.", size,
		bytesOf(func(c *result.Cell) *int64 { return c.RSS })},
	{"open", "time to open", "One open of the loaded store.", duration,
		bytesOf(func(c *result.Cell) *int64 { return c.Open })},
	{"goroutines", "goroutines", "With the store open, those of the harness included.", count,
		bytesOf(func(c *result.Cell) *int64 {
			if c.Goroutines == nil {
				return nil
			}
			v := int64(*c.Goroutines)
			return &v
		})},
}

// costs draws what operations need beside time, a chart for each thing that was measured.
func (f *figures) costs() ([]htmlFigure, error) {
	var all []htmlFigure
	for _, m := range costFigures {
		figure, drawn, err := f.cost(m)
		if err != nil {
			return nil, err
		}
		if drawn {
			all = append(all, figure)
		}
	}
	return all, nil
}

// cost draws one thing of all operations.
func (f *figures) cost(m figure) (htmlFigure, bool, error) {
	var rows []chart.Row
	var works []string
	contenders := f.contenders(m)
	table := htmlTable{Head: []htmlHead{{Text: "operation"}}}
	for _, c := range contenders {
		table.Head = append(table.Head, htmlHead{Text: c.Name(), Engine: c.Engine, Right: true})
	}
	for _, t := range f.tables {
		for _, g := range t.Groups {
			dots := chart.Row{Name: f.rowName(t, g)}
			line := htmlRow{Promise: t.Promise.Label(), Cells: append([]htmlCell{{Text: dots.Name}},
				make([]htmlCell, len(contenders))...)}
			for i, c := range contenders {
				line.Cells[i+1] = htmlCell{Engine: c.Engine, Right: true}
			}
			for _, i := range g.Cells {
				c := &f.run.Cells[i]
				v := m.of(c)
				if v == nil || !c.Ranked || c.Status != result.OK {
					continue
				}
				dots.Dots = append(dots.Dots, chart.Dot{Color: f.colors[c.Engine], Value: *v})
				at := 1 + slices.IndexFunc(contenders, func(o *result.Cell) bool { return o.Name() == c.Name() })
				line.Cells[at] = numeric(v, m.print)
				line.Cells[at].Engine = c.Engine
			}
			if len(dots.Dots) > 0 {
				rows, table.Rows = append(rows, dots), append(table.Rows, line)
				works = append(works, work(&f.run.Cells[g.Cells[0]]))
			}
		}
	}
	if len(rows) == 0 {
		return htmlFigure{}, false, nil
	}
	drawing, err := chart.Rows(rows, chart.Axis{Print: m.print, Bytes: m.bytes()})
	if err != nil {
		return htmlFigure{}, false, err
	}
	figure := htmlFigure{ID: "cost-" + m.key, Title: m.name, Legend: f.engineKeys(), Table: table,
		Command: f.again(works, nil),
		How:     "Further left is less. " + m.how + " A dot is an engine, or a form of it in the same colour; the scale is logarithmic."}
	if slices.ContainsFunc(rows, func(r chart.Row) bool { return strings.HasSuffix(r.Name, "*") }) {
		figure.Notes = []string{"* power loss may damage the store"}
	}
	figure, err = figure.with(drawing)
	return figure, true, err
}

// contenders returns a cell of each contender of which a thing is known.
func (f *figures) contenders(m figure) []*result.Cell {
	var all []*result.Cell
	for i := range f.run.Cells {
		c := &f.run.Cells[i]
		known := c.Ranked && c.Status == result.OK && m.of(c) != nil
		if known && !slices.ContainsFunc(all, func(o *result.Cell) bool { return o.Name() == c.Name() }) {
			all = append(all, c)
		}
	}
	return all
}

// rowName returns "hook put", and at which promise where there are several.
func (f *figures) rowName(t result.Table, g result.Group) string {
	name := t.Workload
	if t.Params != "" && !singleParams(f.run.Cells)[t.Workload] {
		name += "?" + t.Params
	}
	name += " " + operationName(&f.run.Cells[g.Cells[0]])
	several := slices.ContainsFunc(f.tables, func(o result.Table) bool {
		return o.Workload == t.Workload && o.Params == t.Params && !o.Promise.Same(t.Promise) &&
			o.Promise.Delivered != "read" && t.Promise.Delivered != "read"
	})
	if several {
		name += ", " + strings.TrimSuffix(t.Promise.Label(), "-intact")
		if !t.Promise.Intact {
			name += "*"
		}
	}
	return name
}

// all returns every figure of every cell, as one table.
func (f *figures) all() htmlTable {
	table := htmlTable{Name: "all figures", Head: heads("operation", "engine", "promise", "time/op", "±", "vs fastest",
		"× floor", "p50", "p90", "p99", "p99.9", "max")}
	table.Head[1].Right, table.Head[2].Right = false, false
	for _, m := range costFigures {
		table.Head = append(table.Head, htmlHead{Text: m.name, Right: true})
	}
	for _, t := range f.tables {
		for _, g := range t.Groups {
			for _, r := range groupRows(f.run.Cells, g) {
				table.Rows = append(table.Rows, f.allRow(t, r))
			}
		}
	}
	return table
}

func (f *figures) allRow(t result.Table, r row) htmlRow {
	c := r.cell
	line := htmlRow{Engine: c.Engine, Promise: t.Promise.Label(),
		Cells: []htmlCell{{Text: strings.TrimPrefix(work(c), "/")}, {Text: c.Name()}, {Text: promiseName(t.Promise)}}}
	if c.Status != result.OK || c.NS == nil {
		line.Cells = append(line.Cells, htmlCell{Text: timeOf(r), Class: "bad", Right: true})
		return line
	}
	line.Cells = append(line.Cells, numeric(&c.NS.Mid, duration), htmlCell{Text: intervalOf(c), Right: true},
		htmlCell{Text: strings.TrimSpace(ratioOf(r)), Right: true}, numeric(c.Floor, stats.Factor))
	if c.Ratio != nil {
		line.Cells[5].Sort = numeric(&c.Ratio.Mid, stats.Factor).Sort
	}
	line.Cells = append(line.Cells, percentileCells(c.Latency)...)
	for _, m := range costFigures {
		line.Cells = append(line.Cells, numeric(m.of(c), m.print))
	}
	return line
}
