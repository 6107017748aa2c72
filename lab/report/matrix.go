package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/assaydb/assay/lab/result"
)

// matrix is what a run shows of one promise: a row for each operation, a column for each engine.
type matrix struct {
	promise result.Promise
	engines []string // the best on the whole first
	races   []race
}

// race is one operation of a matrix: its cells, the fastest first.
type race struct {
	label string
	rows  []row
	read  bool // it commits nothing, so that engines of every promise take part
}

// standing is what one cell of a matrix says.
type standing int

const (
	absent  standing = iota // the engine did not take part
	skipped                 // nor was it measured
	failed
	alone      // measured, with nobody to compare with
	fastest    // for sure
	leads      // the fastest so far: for another it is open or equivalent, or it was not measured
	equivalent // to the fastest
	open
	slower
	behind // surely by more than twice, so that it got no more rounds: its ratio is rough
)

// matrices returns those of a run, the strongest promise first, and those in which nobody has a rival last. Operations that
// only read stand in the first.
func matrices(run *result.Run) []matrix {
	var all []matrix
	var reads []race
	single := singleParams(run.Cells)
	for _, t := range result.Tables(run.Cells) {
		var races []race
		for _, g := range t.Groups {
			if r := newRace(run.Cells, t, g, single[t.Workload]); r.measured() > 0 {
				races = append(races, r)
			}
		}
		switch i := slices.IndexFunc(all, func(m matrix) bool { return m.promise.Same(t.Promise) }); {
		case len(races) == 0:
		case t.Promise.Delivered == "read":
			reads = append(reads, races...)
		case i >= 0:
			all[i].races = append(all[i].races, races...)
			if t.Promise.Proof == result.Proved {
				all[i].promise.Proof = result.Proved
			}
		default:
			all = append(all, matrix{promise: t.Promise, races: races})
		}
	}
	slices.SortStableFunc(all, func(a, b matrix) int { return cmp.Compare(a.place(), b.place()) })
	if len(all) == 0 && len(reads) > 0 {
		all = []matrix{{promise: result.Promise{Delivered: "read"}}}
	}
	if len(all) > 0 {
		all[0].races = append(all[0].races, reads...)
	}
	for i := range all {
		all[i].order(run.Cells)
	}
	return all
}

// place orders matrices.
func (m matrix) place() int {
	if !m.rivals() {
		return 100 + strength(m.promise)
	}
	return strength(m.promise)
}

// strength orders promises from the strongest to the weakest, of equal ones the proved first.
func strength(p result.Promise) int {
	s := 10 * slices.Index([]string{"synced-intact", "synced", "flushed-intact", "flushed", "buffered-intact", "buffered"}, p.Label())
	return s + slices.Index([]string{result.Proved, result.Unproved, result.Disproved}, p.Proof)
}

// singleParams tells of each workload whether it ran with one set of parameters alone: they need not be told then.
func singleParams(cells []result.Cell) map[string]bool {
	first, single := map[string]string{}, map[string]bool{}
	for _, c := range cells {
		if _, seen := first[c.Workload]; !seen {
			first[c.Workload], single[c.Workload] = c.Params, true
		}
		single[c.Workload] = single[c.Workload] && c.Params == first[c.Workload]
	}
	return single
}

func newRace(cells []result.Cell, t result.Table, g result.Group, single bool) race {
	rows := slices.DeleteFunc(groupRows(cells, g), func(r row) bool { return !r.cell.Ranked })
	name := t.Workload
	if t.Params != "" && !single {
		name += "?" + t.Params
	}
	r := race{rows: rows, read: t.Promise.Delivered == "read"}
	if len(rows) > 0 {
		r.label = name + " " + operationName(rows[0].cell)
	}
	return r
}

// measured returns how many contenders have a figure.
func (r race) measured() int {
	n := 0
	for _, row := range r.rows {
		if row.cell.Status == result.OK && row.cell.NS != nil {
			n++
		}
	}
	return n
}

// of returns the best row of an engine, whatever its form; nil if it did not take part.
func (r race) of(engine string) *row {
	for i := range r.rows {
		if r.rows[i].cell.Engine == engine {
			return &r.rows[i]
		}
	}
	return nil
}

// standing returns what a row of the race says.
func (r race) standing(x *row) standing {
	switch {
	case x == nil:
		return absent
	case x.cell.Status == result.Failed:
		return failed
	case x.cell.Status != result.OK || x.cell.NS == nil:
		return skipped
	case x.cell.Ratio == nil, isBest(x.cell) && !r.contested() && r.complete():
		return alone
	case x.few && r.measured() > 1:
		return open
	case isBest(x.cell):
		if r.decided() {
			return fastest
		}
		return leads
	case x.cell.Ratio.Different && x.cell.Early == result.EarlyBehind:
		return behind
	case x.cell.Ratio.Different:
		return slower
	case x.cell.Ratio.Equivalent:
		return equivalent
	}
	return open
}

// rivals returns the rows of all engines but that of the fastest: in which form it is so is another question.
func (r race) rivals() []row {
	i := slices.IndexFunc(r.rows, func(x row) bool { return isBest(x.cell) })
	if i < 0 {
		return r.rows
	}
	return slices.DeleteFunc(slices.Clone(r.rows), func(x row) bool { return x.cell.Engine == r.rows[i].cell.Engine })
}

// decided reports whether the first is faster than all other engines for sure, and none of them was skipped.
func (r race) decided() bool {
	return !slices.ContainsFunc(r.rivals(), func(x row) bool {
		return x.cell.Status != result.Failed && (x.few || x.cell.Ratio == nil || !x.cell.Ratio.Different)
	})
}

// order puts the races into the order in which they ran, and the engines into that of what they show on the whole: the
// mean of the logarithms of their ratios, for which a missing figure counts as the worst of its race.
func (m *matrix) order(cells []result.Cell) {
	at := func(r race) int {
		return slices.IndexFunc(cells, func(c result.Cell) bool {
			x := r.rows[0].cell
			return c.Workload == x.Workload && c.Params == x.Params && c.Operation == x.Operation
		})
	}
	slices.SortStableFunc(m.races, func(a, b race) int { return cmp.Compare(at(a), at(b)) })
	score := map[string]float64{}
	for _, r := range m.races {
		for _, x := range r.rows {
			if _, seen := score[x.cell.Engine]; !seen {
				score[x.cell.Engine] = 0
				m.engines = append(m.engines, x.cell.Engine)
			}
		}
	}
	m.engines = slices.DeleteFunc(m.engines, func(e string) bool {
		return !slices.ContainsFunc(m.races, func(r race) bool { return r.standing(r.of(e)) > skipped })
	})
	for _, r := range m.races {
		worst := 0.0
		for _, x := range r.rows {
			worst = max(worst, ratioLog(&x))
		}
		for _, e := range m.engines {
			if x := r.of(e); x != nil && x.cell.Ratio != nil {
				score[e] += ratioLog(x)
			} else {
				score[e] += worst
			}
		}
	}
	slices.SortStableFunc(m.engines, func(a, b string) int { return cmp.Compare(score[a], score[b]) })
}

func ratioLog(x *row) float64 {
	if x.cell.Ratio == nil || x.cell.Ratio.Mid <= 0 {
		return 0
	}
	return math.Log(x.cell.Ratio.Mid)
}

// comparisons returns how many were made with the fastest engine of a race, and how many of them are open.
func (m matrix) comparisons() (all, undecided int) {
	for _, r := range m.races {
		for _, x := range r.rivals() {
			if x.cell.Ratio != nil {
				all++
				if r.standing(&x) == open {
					undecided++
				}
			}
		}
	}
	return all, undecided
}

// contested reports whether two engines have a figure.
func (r race) contested() bool {
	return slices.ContainsFunc(r.rivals(), func(x row) bool { return x.cell.NS != nil })
}

// rivals reports whether any engine has one at any operation.
func (m matrix) rivals() bool {
	return slices.ContainsFunc(m.races, race.contested)
}

// leader returns the engine that is first in the most races of those that have rivals, and in how many it is.
func (m matrix) leader() (engine string, first, races int) {
	for _, e := range m.engines {
		n := 0
		races = 0
		for _, r := range m.races {
			if !r.contested() {
				continue
			}
			races++
			if s := r.standing(r.of(e)); s == fastest || s == leads {
				n++
			}
		}
		if n > first {
			engine, first = e, n
		}
	}
	return engine, first, races
}

// matrix prints one: the promise, and the grid with intervals where there is room for them. Where there are too many
// engines for the page, they stand in several grids one below the other.
func (p *page) matrix(run *result.Run, m matrix) {
	title := promiseTitle(m.promise)
	if m.promise.Proof != "" && m.promise.Delivered != "read" {
		title += " · " + m.promise.Proof
	}
	p.paragraph("", p.styles.plain, title, p.styles.title)
	var columns []gridColumn
	var rows [][]gridCell
	for _, o := range []gridOptions{{intervals: true, bounds: true}, {intervals: true}, {}, {split: true}} {
		if columns, rows = p.matrixGrid(m, o); gridWidth(columns, rows) <= p.width && (!o.intervals || p.width >= wide) {
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

// wide is the page on which a matrix tells intervals.
const wide = 100

// gridOptions say how much a matrix tells.
type gridOptions struct {
	intervals bool
	bounds    bool // of the intervals of ratios, and not how wide they are
	split     bool // long names take two lines
}

func firstCells(rows [][]gridCell, n int) [][]gridCell {
	out := make([][]gridCell, len(rows))
	for i, r := range rows {
		out[i] = r[:n]
	}
	return out
}

// matrixGrid returns the columns of a matrix, and its rows below the rest of names that were too long for one line.
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

// matrixCell returns "● 529µs" of the fastest, "4.0" of one that takes four times as long, and what is not sure with its mark.
func (p *page) matrixCell(r race, x *row, o gridOptions) gridCell {
	s := r.standing(x)
	text := ""
	switch s {
	case absent:
		return gridCell{}
	case failed:
		text = "failed"
	case skipped:
		text = "-"
	default:
		text = marks[s] + p.figure(s, x, o)
	}
	if s > failed && r.mixed() && x.cell.Name() != x.cell.Engine {
		text += "/" + p.suffix(x.cell.Form)
	}
	return gridCell{text, p.standingStyle(s)}
}

// figure returns a time or a ratio with its interval, which those that left early and those of few rounds have none of.
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
				if x := r.of(e); x != nil && r.standing(x) > failed && r.mixed() && x.cell.Name() != x.cell.Engine && !slices.Contains(forms, x.cell.Form) {
					forms = append(forms, x.cell.Form)
				}
			}
		}
	}
	return forms
}

var marks = map[standing]string{fastest: "● ", leads: "○ ", equivalent: "=", open: "~", behind: "»"}

// mixed reports whether the contenders do the operation in several ways, so that a cell must tell in which.
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

// times prints a ratio with two digits that count, and with two decimals near 1, where 5 % matter.
func times(f float64) string {
	switch {
	case f < 1.495:
		return fmt.Sprintf("%.2f", f)
	case f < 9.95:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

// halfWidth prints how far an interval reaches from its middle, which is that of the logarithms: "±7%".
func halfWidth(lo, hi float64) string {
	if lo <= 0 || hi < lo || hi > 4*lo {
		return "±99+%"
	}
	return percent(math.Sqrt(hi/lo) - 1)
}
