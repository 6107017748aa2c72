package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// table prints one workload at one promise: its name, the numbers, why cells have none, and the
// verdict.
func (p *page) table(run *result.Run, t result.Table) {
	title := tableName(t)
	if s := proof(run.Cells, t); s != "" {
		title += " · " + s
	}
	p.paragraph("", p.styles.plain, title, p.styles.title)
	p.blank()
	rows := tableRows(run, t)
	if slices.ContainsFunc(rows, func(r row) bool { return r.cell != nil && r.cell.NS != nil }) {
		p.draw(rows)
		p.blank()
	}
	p.metrics(rows)
	p.notes(rows)
	for _, v := range run.Verdicts {
		if v.Operation == "" && v.Workload == t.Workload && v.Params == t.Params && v.Promise.Same(t.Promise) {
			p.paragraph("→ ", p.styles.best, v.Text, p.styles.plain)
		}
	}
	p.blank()
	p.blank()
}

// row is one line of a table; without a cell it is the space between two operations.
type row struct {
	operation string // empty but on the first line of an operation
	cell      *result.Cell
	few       bool // too few rounds in common with the fastest for an interval
}

// tableRows returns the lines of a table: by operation, in each the fastest first, then those
// without a number, then the harness's own floor. Where nothing is ranked, the engines stay in the
// order in which they were named.
func tableRows(run *result.Run, t result.Table) []row {
	var rows []row
	for _, g := range t.Groups {
		if len(rows) > 0 {
			rows = append(rows, row{})
		}
		rows = append(rows, groupRows(run.Cells, g)...)
	}
	return rows
}

func groupRows(cells []result.Cell, g result.Group) []row {
	sorted := make([]*result.Cell, len(g.Cells))
	for i, index := range g.Cells {
		sorted[i] = &cells[index]
	}
	slices.SortStableFunc(sorted, func(a, b *result.Cell) int {
		return cmp.Or(cmp.Compare(class(a), class(b)), cmp.Compare(speed(a), speed(b)))
	})
	var rows []row
	for _, c := range sorted {
		rows = append(rows, row{cell: c, few: common(c, sorted[0]) < stats.MinRounds})
	}
	rows[0].operation = operationName(sorted[0])
	return rows
}

// common returns how many rounds both cells took part in.
func common(a, b *result.Cell) int {
	n := 0
	for _, s := range a.Samples {
		if slices.ContainsFunc(b.Samples, func(o result.Sample) bool { return o.Round == s.Round }) {
			n++
		}
	}
	return n
}

// class orders the cells of an operation: measured, failed, skipped, not ranked.
func class(c *result.Cell) int {
	switch {
	case !c.Ranked:
		return 3
	case c.Status == result.Skipped:
		return 2
	case c.Status != result.OK:
		return 1
	}
	return 0
}

// speed orders the ranked cells of an operation: the fastest, which is compared with itself, then
// by ratio.
func speed(c *result.Cell) float64 {
	switch {
	case c.Ratio == nil:
		return math.Inf(1)
	case isBest(c):
		return 0
	}
	return c.Ratio.Mid
}

func isBest(c *result.Cell) bool { return c.Ratio != nil && c.Ratio.To == c.Name() }

func operationName(c *result.Cell) string {
	if c.Rate > 0 {
		return c.Operation + " @" + count(c.Rate) + "/s"
	}
	return c.Operation
}

// metrics prints the workload's own figures, a line for each cell that has any.
func (p *page) metrics(rows []row) {
	printed := false
	for _, r := range rows {
		if r.cell == nil || r.cell.Status != result.OK || len(r.cell.Metrics) == 0 {
			continue
		}
		var figures []string
		for _, m := range r.cell.Metrics {
			figures = append(figures, metric(m))
		}
		p.list(fmt.Sprintf("· %s %s: ", r.cell.Name(), r.cell.Operation), p.styles.dim, figures, p.styles.plain)
		printed = true
	}
	if printed {
		p.blank()
	}
}

// note is why some cells have no number.
type note struct {
	operations, names []string // every name at every operation
	skipped           bool
	text              string
}

// notes prints why cells have no number, once for all that have none for the same reason.
func (p *page) notes(rows []row) {
	notes := tableNotes(rows)
	p.noteLines(notes)
	if len(notes) > 0 {
		p.blank()
	}
}

func (p *page) noteLines(notes []note) {
	for _, n := range notes {
		mark, style := "✗ ", p.styles.bad
		if n.skipped {
			mark, style = "· ", p.styles.dim
		}
		p.paragraph(mark, style, fmt.Sprintf("%s %s: %s", strings.Join(n.names, ", "), strings.Join(n.operations, ", "),
			n.text), style)
	}
}

// tableNotes returns the notes of a table, operationNotes those of one operation each.
func tableNotes(rows []row) []note {
	var all []note
	for _, of := range operationNotes(rows) {
		i := slices.IndexFunc(all, func(n note) bool {
			return n.text == of.text && n.skipped == of.skipped && slices.Equal(n.names, of.names)
		})
		if i < 0 {
			all = append(all, of)
		} else {
			all[i].operations = append(all[i].operations, of.operations...)
		}
	}
	return all
}

func operationNotes(rows []row) []note {
	var all []note
	for _, r := range rows {
		if r.cell == nil || r.cell.Status == result.OK {
			continue
		}
		n := note{operations: []string{r.cell.Operation}, skipped: r.cell.Status == result.Skipped,
			text: cmp.Or(r.cell.Error, "no reason was given")}
		if r.cell.Hint != "" {
			n.text += " → " + r.cell.Hint
		}
		n.text = oneLine(n.text)
		i := slices.IndexFunc(all, func(o note) bool {
			return o.text == n.text && o.skipped == n.skipped && slices.Equal(o.operations, n.operations)
		})
		if i < 0 {
			i, all = len(all), append(all, n)
		}
		all[i].names = append(all[i].names, r.cell.Name())
	}
	return all
}

// draw prints rows with as many columns as there is room for.
func (p *page) draw(rows []row) {
	if p.width < minWidth {
		p.drawNarrow(rows)
		return
	}
	columns := p.fit(rows, barScale(rows))
	heads := make([]gridColumn, len(columns))
	for i, c := range columns {
		heads[i] = gridColumn{c.name, c.right}
	}
	var lines [][]gridCell
	for _, r := range rows {
		line := make([]gridCell, len(columns))
		for i, c := range columns {
			line[i].text = c.value(r)
			if r.cell != nil {
				line[i].style = p.rowStyle(r.cell, c)
			}
		}
		lines = append(lines, line)
	}
	p.grid(heads, lines, true)
}

// drawNarrow prints rows as lists, with what every table tells.
func (p *page) drawNarrow(rows []row) {
	var lines [][]gridCell
	for _, r := range rows {
		line := make([]gridCell, 4)
		if r.cell != nil {
			style := p.rowStyle(r.cell, column{key: "engine", marked: true})
			line = []gridCell{{text: r.operation}, {text: r.cell.Name()}, {text: timeOf(r)}, {ratioOf(r), style}}
		}
		lines = append(lines, line)
	}
	p.rowsAsLists(make([]gridColumn, 4), lines)
}

// rowStyle tells the fastest and what is equivalent to it from the others by the colours of their
// names, ratios and bars.
func (p *page) rowStyle(c *result.Cell, col column) lipgloss.Style {
	switch {
	case c.Status == result.Failed:
		return p.only(col.key != "operation", p.styles.bad)
	case c.Status == result.Skipped || !c.Ranked:
		return p.only(col.key != "operation", p.styles.dim)
	case c.Ratio == nil:
		return p.styles.plain
	case isBest(c):
		return p.only(col.marked, p.styles.best)
	case c.Ratio.Equivalent:
		return p.only(col.marked, p.styles.tie)
	}
	return p.only(col.key == "bar", p.styles.slower)
}

func (p *page) only(where bool, style lipgloss.Style) lipgloss.Style {
	if where {
		return style
	}
	return p.styles.plain
}

// barScale returns the ratio of a full bar: the largest of the table, and at least 4, so that small
// differences look small.
func barScale(rows []row) float64 {
	scale := 4.0
	for _, r := range rows {
		if r.cell != nil && r.cell.Ratio != nil {
			scale = max(scale, r.cell.Ratio.Mid)
		}
	}
	return scale
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func padRight(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-lipgloss.Width(s)))
}
