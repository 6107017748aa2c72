package report

import "charm.land/lipgloss/v2"

// proofColumn is a column of the table of promises.
type proofColumn struct {
	key   string
	name  string
	right bool
	value func(*proofRow) string
	style func(*proofRow) lipgloss.Style
}

// proofOptional lists the columns that are left out where there is no room, the most important
// first.
var proofOptional = []string{"recovery", "disk", "strict", "syncs", "writes"}

// proofTable prints a row for each promise, in the longest words in which all columns fit the page.
// Where they do in none, the engine's name stands above its promises, and the least important
// columns are left out.
func (p *page) proofTable(rows []*proofRow) {
	for _, l := range []length{long, middle, short} {
		columns := p.proofColumns(rows, l)
		if proofWidth(rows, columns) <= p.width {
			p.drawProof(rows, columns)
			return
		}
	}
	columns := p.stacked(p.proofColumns(rows, short))
	for i := len(proofOptional) - 1; i >= 0 && proofWidth(rows, columns) > p.width; i-- {
		columns = without(columns, proofOptional[i])
	}
	p.drawProof(rows, columns)
}

// proofColumns returns the columns that have something to show.
func (p *page) proofColumns(rows []*proofRow, l length) []proofColumn {
	plain := func(*proofRow) lipgloss.Style { return p.styles.plain }
	columns := []proofColumn{
		{key: "engine", name: "engine", style: plain, value: func(r *proofRow) string {
			if r.firstOfEngine {
				return r.engine
			}
			return ""
		}},
		{key: "promise", name: "promise", style: plain, value: func(r *proofRow) string { return claimName(r.promise) }},
	}
	for _, f := range faultColumns {
		columns = append(columns, proofColumn{key: f.key, name: f.names[l],
			value: func(r *proofRow) string { return r.outcomes[f.key].text(l) },
			style: func(r *proofRow) lipgloss.Style { return r.outcomes[f.key].style(p.styles) },
		})
	}
	columns = append(columns,
		proofColumn{key: "syncs", name: "syncs", right: true, style: plain,
			value: func(r *proofRow) string { return number(r.syncs, count) }},
		proofColumn{key: "writes", name: "writes", right: true, style: plain,
			value: func(r *proofRow) string { return number(r.writes, count) }})
	var shown []proofColumn
	for _, c := range columns {
		if c.width(rows) > 0 {
			shown = append(shown, c)
		}
	}
	return shown
}

// stacked puts engine and promise into one column: the name has a line of its own, see drawProof.
func (p *page) stacked(columns []proofColumn) []proofColumn {
	columns = without(columns, "engine")
	columns[0].name = "engine, promise"
	columns[0].value = func(r *proofRow) string { return " " + claimName(r.promise) }
	return columns
}

func without(columns []proofColumn, key string) []proofColumn {
	var kept []proofColumn
	for _, c := range columns {
		if c.key != key {
			kept = append(kept, c)
		}
	}
	return kept
}

// width returns how wide a column is, 0 if it has nothing to show.
func (c proofColumn) width(rows []*proofRow) int {
	width := 0
	for _, r := range rows {
		width = max(width, lipgloss.Width(clean(c.value(r))))
	}
	if width == 0 {
		return 0
	}
	return max(width, lipgloss.Width(c.name))
}

func proofWidth(rows []*proofRow, columns []proofColumn) int {
	width := gap * (len(columns) - 1)
	for _, c := range columns {
		width += c.width(rows)
	}
	return width
}

// drawProof prints the table. Where there is no column of engines, each name stands above its
// promises.
func (p *page) drawProof(rows []*proofRow, columns []proofColumn) {
	stacked := columns[0].key != "engine"
	heads := make([]gridColumn, len(columns))
	for i, c := range columns {
		heads[i] = gridColumn{c.name, c.right}
	}
	var lines [][]gridCell
	for _, r := range rows {
		if stacked && r.firstOfEngine {
			lines = append(lines, []gridCell{{text: clip(clean(r.engine), columns[0].width(rows))}})
		}
		line := make([]gridCell, len(columns))
		for i, c := range columns {
			line[i] = gridCell{c.value(r), c.style(r)}
		}
		lines = append(lines, line)
	}
	p.grid(heads, lines, true)
}

// clip cuts s to width columns.
func clip(s string, width int) string {
	if lipgloss.Width(s) <= width {
		return s
	}
	runes := []rune(s)
	return string(runes[:min(len(runes), max(width-1, 1))]) + "…"
}
