package report

import (
	"fmt"
	"math"
	"slices"

	"charm.land/lipgloss/v2"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// column is one column of a table.
type column struct {
	key    string
	name   string
	right  bool // aligned
	marked bool // coloured in the rows of the fastest and of what is equivalent to it
	value  func(row) string
}

const (
	minBar = 8
	maxBar = 24
)

// optional lists the columns that are left out where there is no room, the most important first.
var optional = []string{"interval", "floor", "p99", "syncs", "written", "allocs", "p50", "writes", "rss", "size", "max"}

// fit returns the columns that have something to show and fit the page; the bar takes what is left
// of it.
func (p *page) fit(rows []row, scale float64) []column {
	all := allColumns()
	widths := map[string]int{}
	for _, c := range all {
		widths[c.key] = c.width(rows)
	}
	widths["bar"] = minBar
	chosen := map[string]bool{"operation": true, "engine": true, "time": true}
	if compared(rows) {
		chosen["ratio"], chosen["bar"] = true, true
	}
	room := p.width - gap*(len(chosen)-1)
	for key := range chosen {
		room -= widths[key]
	}
	for _, key := range optional {
		if widths[key] > 0 && widths[key]+gap <= room {
			chosen[key] = true
			room -= widths[key] + gap
		}
	}
	barWidth := min(minBar+max(room, 0), maxBar)
	columns := slices.DeleteFunc(all, func(c column) bool { return !chosen[c.key] })
	for i := range columns {
		if columns[i].key == "bar" {
			columns[i].value = func(r row) string { return barOf(r, scale, barWidth) }
		}
	}
	return columns
}

// compared reports whether any cell is compared with another.
func compared(rows []row) bool {
	return slices.ContainsFunc(rows, func(r row) bool {
		return r.cell != nil && r.cell.Ratio != nil &&
			!isBest(r.cell)
	})
}

// width returns how wide a column is, 0 if it has nothing to show.
func (c column) width(rows []row) int {
	width := 0
	for _, r := range rows {
		width = max(width, lipgloss.Width(clean(c.value(r))))
	}
	if width == 0 {
		return 0
	}
	return max(width, lipgloss.Width(c.name))
}

// allColumns returns the columns in the order in which they are shown. Only the bar depends on the
// table, see fit.
func allColumns() []column {
	return []column{
		{key: "operation", name: "operation", value: func(r row) string { return r.operation }},
		{key: "engine", name: "engine", marked: true, value: func(r row) string {
			if r.cell == nil {
				return ""
			}
			return r.cell.Name()
		}},
		{key: "time", name: "time/op", right: true, value: timeOf},
		{key: "interval", name: "±", right: true, value: of(intervalOf)},
		{key: "ratio", name: "  vs fastest", marked: true, value: ratioOf},
		{key: "bar", name: "", marked: true, value: func(row) string { return "" }},
		{key: "floor", name: "× floor", right: true, value: of(func(c *result.Cell) string {
			return number(c.Floor,
				stats.Factor)
		})},
		{key: "p50", name: "p50", right: true, value: of(latencyOf(func(l *result.Latency) int64 { return l.P50 }))},
		{key: "p99", name: "p99", right: true, value: of(latencyOf(func(l *result.Latency) int64 { return l.P99 }))},
		{key: "max", name: "max", right: true, value: of(latencyOf(func(l *result.Latency) int64 { return l.Max }))},
		{key: "allocs", name: "allocs/op", right: true, value: of(func(c *result.Cell) string {
			return number(c.Allocs,
				count)
		})},
		{key: "syncs", name: "syncs/op", right: true, value: of(func(c *result.Cell) string {
			return number(c.Syncs,
				count)
		})},
		{key: "writes", name: "writes/op", right: true, value: of(func(c *result.Cell) string {
			return number(c.Writes,
				count)
		})},
		{key: "written", name: "written/op", right: true, value: of(func(c *result.Cell) string { return number(c.Written, size) })},
		{key: "rss", name: "RSS", right: true, value: of(func(c *result.Cell) string { return integer(c.RSS, size) })},
		{key: "size", name: "size", right: true, value: of(sizeOf)},
	}
}

// of returns a column's value of cells that ended well.
func of(value func(*result.Cell) string) func(row) string {
	return func(r row) string {
		if r.cell == nil || r.cell.Status != result.OK {
			return ""
		}
		return value(r.cell)
	}
}

func timeOf(r row) string {
	switch {
	case r.cell == nil:
		return ""
	case r.cell.Status != result.OK:
		return string(r.cell.Status)
	case r.cell.NS == nil:
		return "none"
	}
	return duration(r.cell.NS.Mid)
}

// intervalOf returns the half-width of the interval of the time, or the number of rounds where they
// are too few for one.
func intervalOf(c *result.Cell) string {
	switch {
	case c.NS == nil || c.NS.Mid <= 0:
		return ""
	case len(c.Samples) > 0 && len(c.Samples) < stats.MinMedian:
		return fmt.Sprintf("n=%d", len(c.Samples))
	}
	return percent((c.NS.Hi - c.NS.Lo) / 2 / c.NS.Mid)
}

// ratioOf returns "  1.84x [1.79–1.90]", with a "=" in front of what is equivalent and a "~" in
// front of what is open; without an interval where the rounds were too few for one.
func ratioOf(r row) string {
	switch {
	case r.cell == nil || r.cell.Status != result.OK:
		return ""
	case !r.cell.Ranked:
		return "  harness floor"
	case r.cell.Ratio == nil:
		return ""
	case isBest(r.cell):
		return "  1"
	}
	q, mark := r.cell.Ratio, " "
	switch {
	case r.few:
		return "~ " + stats.Factor(q.Mid) + "x"
	case q.Open():
		mark = "~"
	case q.Equivalent:
		mark = "="
	}
	return fmt.Sprintf("%s %-5s [%s–%s]", mark, stats.Factor(q.Mid)+"x", stats.Factor(q.Lo), stats.Factor(q.Hi))
}

// barOf draws a ratio on a logarithmic scale: nothing is 1, the full width is scale.
func barOf(r row, scale float64, width int) string {
	if r.cell == nil || r.cell.Ratio == nil || r.cell.Status != result.OK {
		return ""
	}
	return bar(math.Log(max(r.cell.Ratio.Mid, 1))/math.Log(scale), width)
}

func latencyOf(pick func(*result.Latency) int64) func(*result.Cell) string {
	return func(c *result.Cell) string {
		if c.Latency == nil || pick(c.Latency) == 0 {
			return ""
		}
		return duration(float64(pick(c.Latency)))
	}
}

// sizeOf returns the space of the store after the measurement, or before it if that is all there
// is.
func sizeOf(c *result.Cell) string {
	switch {
	case c.Size == nil:
		return ""
	case c.Size.Churned != nil:
		return integer(c.Size.Churned, size)
	}
	return integer(c.Size.Loaded, size)
}

func number(v *float64, print func(float64) string) string {
	if v == nil {
		return ""
	}
	return print(*v)
}

func integer(v *int64, print func(float64) string) string {
	if v == nil {
		return ""
	}
	return print(float64(*v))
}
