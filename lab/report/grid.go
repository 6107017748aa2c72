package report

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// gap is the space between columns.
const gap = 2

// gridColumn is the head of a column.
type gridColumn struct {
	name  string
	right bool // aligned
}

// gridCell is a text in its style.
type gridCell struct {
	text  string
	style lipgloss.Style
}

// gridWidths returns how wide the columns of a grid are.
func gridWidths(columns []gridColumn, rows [][]gridCell) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = lipgloss.Width(c.name)
	}
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], lipgloss.Width(clean(c.text)))
		}
	}
	return widths
}

// gridWidth returns how wide a grid is.
func gridWidth(columns []gridColumn, rows [][]gridCell) int {
	all := gap * (len(columns) - 1)
	for _, w := range gridWidths(columns, rows) {
		all += w
	}
	return all
}

// grid prints a table: the names of the columns, a rule if asked for, and the rows. A row may be
// shorter than the others.
func (p *page) grid(columns []gridColumn, rows [][]gridCell, ruled bool) {
	widths := gridWidths(columns, rows)
	head := make([]gridCell, len(columns))
	named := false
	for i, c := range columns {
		head[i] = gridCell{c.name, p.styles.heading}
		named = named || c.name != ""
	}
	if named {
		p.gridLine(columns, widths, head)
	}
	if ruled {
		p.line(paint(p.styles.dim, strings.Repeat("─", gridWidth(columns, rows))))
	}
	for _, r := range rows {
		p.gridLine(columns, widths, r)
	}
}

// gridByOperation prints a grid whose first column names operations. Where it is too wide for the
// page, each operation stands on a line of its own above its rows; where that is too wide too, the
// columns of the names in optional are left out, one after the other.
func (p *page) gridByOperation(columns []gridColumn, rows [][]gridCell, optional ...string) {
	const indent = "  "
	if gridWidth(columns, rows) <= p.width {
		p.grid(columns, rows, false)
		return
	}
	if p.width < minWidth {
		p.rowsAsLists(columns, rows)
		return
	}
	rest := make([][]gridCell, len(rows))
	for i, r := range rows {
		rest[i] = r[1:]
	}
	columns = columns[1:]
	for _, name := range optional {
		i := slices.IndexFunc(columns, func(c gridColumn) bool { return c.name == name })
		if i < 0 || len(indent)+gridWidth(columns, rest) <= p.width {
			break
		}
		columns = slices.Delete(slices.Clone(columns), i, i+1)
		for j, r := range rest {
			rest[j] = slices.Delete(slices.Clone(r), i, i+1)
		}
	}
	q := page{options: p.options, styles: p.styles}
	q.grid(columns, rest, false)
	lines := q.lines
	if len(lines) > len(rows) { // the names of the columns
		p.line(indent + lines[0])
		lines = lines[1:]
	}
	for i, l := range lines {
		if name := rows[i][0]; name.text != "" && (i == 0 || name.text != rows[i-1][0].text) {
			p.paragraph("", p.styles.plain, name.text, name.style)
		}
		p.line(indent + l)
	}
}

// rowsAsLists prints the rows of a grid for which the page is too narrow, with the names of its
// columns, below what stands in the first one.
func (p *page) rowsAsLists(columns []gridColumn, rows [][]gridCell) {
	last := ""
	for _, r := range rows {
		if name := r[0].text; name != "" && name != last {
			p.paragraph("", p.styles.plain, name, r[0].style)
			last = name
		}
		var items []string
		style := p.styles.plain
		for i, c := range r[1:] {
			if text := strings.TrimSpace(c.text); text != "" {
				items = append(items, strings.TrimSpace(columns[i+1].name+" "+text))
				style = c.style // that of the last one, the verdict
			}
		}
		if len(items) > 0 {
			p.list("  ", p.styles.plain, items, style)
		} else if r[0].text == "" {
			p.blank()
		}
	}
}

func (p *page) gridLine(columns []gridColumn, widths []int, cells []gridCell) {
	var b strings.Builder
	for i, c := range cells {
		text := clean(c.text)
		space := strings.Repeat(" ", max(0, widths[i]-lipgloss.Width(text)))
		if columns[i].right {
			b.WriteString(space + paint(c.style, text))
		} else {
			b.WriteString(paint(c.style, text) + space)
		}
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", gap))
		}
	}
	p.line(strings.TrimRight(b.String(), " "))
}
