package report

import (
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
