package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
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

// matrices returns those of a run, the strongest promise first, and those in which nobody has a
// rival last. Operations that only read stand in the first.
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
	s := 10 * slices.Index([]string{"synced-intact", "synced", "flushed-intact", "flushed", "buffered-intact",
		"buffered"}, p.Label())
	return s + slices.Index([]string{result.Proved, result.Unproved, result.Disproved}, p.Proof)
}

// singleParams tells of each workload whether it ran with one set of parameters alone: they need
// not be told then.
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

// of returns the row of an engine that says how it compares: that of its best form, or of another
// one with which it is open; nil if it did not take part.
func (r race) of(engine string) *row {
	var best *row
	for i := range r.rows {
		x := &r.rows[i]
		switch {
		case x.cell.Engine != engine:
		case best == nil:
			best = x
		case r.standing(best) >= slower && r.standing(x) == open:
			return x
		}
	}
	return best
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

// rivals returns the rows of all engines but that of the fastest: in which form it is so is another
// question.
func (r race) rivals() []row {
	i := slices.IndexFunc(r.rows, func(x row) bool { return isBest(x.cell) })
	if i < 0 {
		return r.rows
	}
	return slices.DeleteFunc(slices.Clone(r.rows), func(x row) bool { return x.cell.Engine == r.rows[i].cell.Engine })
}

// decided reports whether the first is faster than all other engines for sure, and none of them was
// skipped.
func (r race) decided() bool {
	return !slices.ContainsFunc(r.rivals(), func(x row) bool {
		return x.cell.Status != result.Failed && (x.few || x.cell.Ratio == nil || !x.cell.Ratio.Different)
	})
}

// order puts the races into the order in which they ran, and the engines into that of what they
// show on the whole: the mean of the logarithms of their ratios, for which a missing figure counts
// as the worst of its race.
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

// tally counts the comparisons of a matrix.
func (m matrix) tally() (t stats.Tally) {
	for _, r := range m.races {
		var cells []result.Cell
		for _, x := range r.rows {
			cells = append(cells, *x.cell)
		}
		t.Add(cells)
	}
	return t
}

// contested reports whether two engines have a figure.
func (r race) contested() bool {
	return slices.ContainsFunc(r.rivals(), func(x row) bool { return x.cell.NS != nil })
}

// rivals reports whether any engine has one at any operation.
func (m matrix) rivals() bool {
	return slices.ContainsFunc(m.races, race.contested)
}

// leader returns the engine that is first in the most races of those that have rivals, and in how
// many it is.
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
