package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// matrix prints one: the promise, and the grid with intervals where there is room for them. Where
// there are too many engines for the page, they stand in several grids one below the other.
func (p *page) matrix(run *result.Run, m matrix) {
	title := promiseTitle(m.promise)
	if m.promise.Proof != "" && m.promise.Delivered != "read" {
		title += " · " + m.promise.Proof
	}
	p.paragraph("", p.styles.plain, title, p.styles.title)
	if p.width < minWidth {
		p.places(m)
		return
	}
	var columns []gridColumn
	var rows [][]gridCell
	for _, o := range []gridOptions{{intervals: true, bounds: true}, {intervals: true}, {}, {split: true}} {
		if columns, rows = p.matrixGrid(m, o); gridWidth(columns, rows) <= p.width &&
			(!o.intervals || p.width >= wide) {
			break
		}
	}
	for len(columns) > 1 {
		n := len(columns)
		if len(rows) > 0 && !slices.ContainsFunc(rows[0], func(c gridCell) bool { return c.text != "" }) {
			rows = rows[1:] // the rest of names that are in other grids
		}
		for n > 2 && gridWidth(columns[:n], firstCells(rows, n)) > p.width {
			n--
		}
		p.grid(columns[:n], firstCells(rows, n), false)
		if n == len(columns) {
			return
		}
		columns = append(columns[:1:1], columns[n:]...)
		for i, r := range rows {
			rows[i] = append(r[:1:1], r[n:]...)
		}
		p.blank()
	}
}

// places prints a line for each operation where a page is too narrow for a column for each engine:
// who is the first, and as many of the next as there is room for.
func (p *page) places(m matrix) {
	indent := 0
	for _, r := range m.races {
		indent = max(indent, lipgloss.Width(clean(r.label)))
	}
	indent = min(indent, p.width/2)
	left := false
	for _, r := range m.races {
		line, room := clean(r.label), p.width-indent
		if long := lipgloss.Width(line); long <= indent {
			line += strings.Repeat(" ", indent-long)
		} else {
			p.paragraph("", p.styles.plain, line, p.styles.plain)
			line = strings.Repeat(" ", indent)
		}
		for i, c := range p.placed(r, m.engines) {
			text := clean(c.text)
			if room -= gap + lipgloss.Width(text); room < 0 && i > 0 {
				left = true
				break
			}
			if room < 0 {
				if line = strings.TrimRight(line, " "); line != "" {
					p.line(line)
				}
				line, room = "", p.width-gap-lipgloss.Width(text)
			}
			line += strings.Repeat(" ", gap) + paint(c.style, text)
		}
		p.line(line)
	}
	if left {
		text := fmt.Sprintf("the first of %d engines: all in %d columns", len(m.engines), DefaultWidth)
		p.paragraph("", p.styles.plain, text, p.styles.dim)
	}
}

// placed returns what a race says of each of some engines, the fastest first.
func (p *page) placed(r race, engines []string) (cells []gridCell) {
	seen := map[string]bool{}
	for _, x := range r.rows {
		if e := x.cell.Engine; !seen[e] && slices.Contains(engines, e) {
			seen[e] = true
			cells = append(cells, p.matrixCell(r, r.of(e), gridOptions{named: true}))
		}
	}
	return cells
}

// wide is the page on which a matrix tells intervals.
const wide = 100

// gridOptions say how much a matrix tells.
type gridOptions struct {
	intervals bool
	bounds    bool // of the intervals of ratios, and not how wide they are
	split     bool // long names take two lines
	named     bool // the engine is told in the cell
}

func firstCells(rows [][]gridCell, n int) [][]gridCell {
	out := make([][]gridCell, len(rows))
	for i, r := range rows {
		out[i] = r[:n]
	}
	return out
}

// matrixGrid returns the columns of a matrix, and its rows below the rest of names that were too
// long for one line.
func (p *page) matrixGrid(m matrix, o gridOptions) (columns []gridColumn, rows [][]gridCell) {
	columns = []gridColumn{{name: ""}}
	second := []gridCell{{}}
	for _, e := range m.engines {
		first, rest := e, ""
		if o.split {
			first, rest = split(e)
		}
		columns = append(columns, gridColumn{first, true})
		second = append(second, gridCell{rest, p.styles.heading})
	}
	if slices.ContainsFunc(second, func(c gridCell) bool { return c.text != "" }) {
		rows = append(rows, second)
	}
	for _, r := range m.races {
		line := []gridCell{{text: r.label}}
		for _, e := range m.engines {
			line = append(line, p.matrixCell(r, r.of(e), o))
		}
		rows = append(rows, line)
	}
	return columns, rows
}

// longName is the longest name of an engine that stands on one line.
const longName = 9

// split breaks a long name behind a hyphen.
func split(name string) (first, rest string) {
	if i := strings.LastIndexByte(name, '-'); i > 0 && len(name) > longName {
		return name[:i+1], name[i+1:]
	}
	return name, ""
}

// matrixCell returns "● 529µs" of the fastest, "4.0" of one that takes four times as long, and what
// is not sure with its mark.
func (p *page) matrixCell(r race, x *row, o gridOptions) gridCell {
	s := r.standing(x)
	name, text := "", ""
	if o.named && x != nil {
		name = x.cell.Engine + " "
	}
	switch s {
	case absent:
		return gridCell{}
	case failed:
		text = name + "failed"
	case skipped:
		text = name + "-"
	default:
		text = marks[s] + name + p.figure(s, x, o)
	}
	if s > failed && r.mixed() && x.cell.Name() != x.cell.Engine {
		text += "/" + p.suffix(x.cell.Form)
	}
	return gridCell{text, p.standingStyle(s)}
}

// vague is the quotient of the bounds of an interval beyond which the upper one says nothing.
const vague = 400

// figure returns a time or a ratio with its interval, which those that left early and those of few
// rounds have none of.
func (p *page) figure(s standing, x *row, o gridOptions) string {
	told := o.intervals && !x.few && s != behind
	if isBest(x.cell) || s == alone {
		text := brief(x.cell.NS.Mid)
		if told {
			text += " " + halfWidth(x.cell.NS.Lo, x.cell.NS.Hi)
		}
		return text
	}
	r := x.cell.Ratio
	switch {
	case told && o.bounds && r.Hi > vague*r.Lo && s == slower:
		return fmt.Sprintf("%s [≥%s]", times(r.Mid), times(r.Lo))
	case told && o.bounds && r.Hi > vague*r.Lo:
		return times(r.Mid) // its interval says nothing
	case told && o.bounds:
		return fmt.Sprintf("%s [%s–%s]", times(r.Mid), times(r.Lo), times(r.Hi))
	case told:
		return times(r.Mid) + " " + halfWidth(r.Lo, r.Hi)
	}
	return times(r.Mid)
}

// suffix returns what stands for a form: its first letter, where no other form has the same.
func (p *page) suffix(form string) string {
	alike := slices.ContainsFunc(p.forms, func(f string) bool { return f != form && f[:1] == form[:1] })
	if alike {
		return form
	}
	return form[:1]
}

// formsOf returns the forms, other than the usual one, that the cells of matrices tell.
func formsOf(all []matrix) []string {
	var forms []string
	for _, m := range all {
		for _, r := range m.races {
			for _, e := range m.engines {
				if x := r.of(e); x != nil && r.standing(x) > failed && r.mixed() && x.cell.Name() != x.cell.Engine &&
					!slices.Contains(forms, x.cell.Form) {
					forms = append(forms, x.cell.Form)
				}
			}
		}
	}
	return forms
}

var marks = map[standing]string{fastest: "● ", leads: "○ ", equivalent: "=", open: "~", behind: "»"}

// mixed reports whether the contenders do the operation in several ways, so that a cell must tell
// in which.
func (r race) mixed() bool {
	return slices.ContainsFunc(r.rows, func(x row) bool { return x.cell.Form != r.rows[0].cell.Form })
}

func (p *page) standingStyle(s standing) lipgloss.Style {
	switch s {
	case fastest:
		return p.styles.best
	case leads, equivalent:
		return p.styles.tie
	case open:
		return p.styles.warn
	case failed:
		return p.styles.bad
	case skipped:
		return p.styles.dim
	}
	return p.styles.plain
}

// brief prints nanoseconds as short as possible: "529µs", "1.8ms".
func brief(ns float64) string {
	units, u := []string{"ns", "µs", "ms", "s"}, 0
	for u < len(units)-1 && ns >= 999.5 {
		ns /= 1000
		u++
	}
	if ns < 9.95 {
		return fmt.Sprintf("%.1f%s", ns, units[u])
	}
	return fmt.Sprintf("%.0f%s", ns, units[u])
}

// times prints a ratio with two digits that count, and more of them near 1, where 5 % matter.
func times(f float64) string {
	switch {
	case f < 1.495:
		return stats.Factor(f)
	case f < 9.95:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

// halfWidth prints how far an interval reaches from its middle, which is that of the logarithms:
// "±7%".
func halfWidth(lo, hi float64) string {
	if lo <= 0 || hi < lo || hi > 4*lo {
		return "±99+%"
	}
	return percent(math.Sqrt(hi/lo) - 1)
}
