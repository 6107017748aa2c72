package stats

import (
	"math"

	"github.com/assaydb/assay/lab/result"
)

// Precise reports whether the ratio of every cell to the fastest of its group has a 95 % interval of chance that
// reaches no farther than precision to either side: 0.05 is ±5 %. Where there is nothing to compare with, the cell's own median
// is looked at instead. It looks at the width alone, never at whether there is a difference: who stops as soon as one
// shows up finds one everywhere. Cells that failed or are not ranked do not count.
func Precise(cells []result.Cell, precision float64) bool {
	return len(Imprecise(cells, precision)) == 0
}

// Imprecise returns the indices of the cells for which [Precise] fails, so that the rounds that are left can be spent on
// them. If the ratio to the fastest is not precise enough, both cells are named.
func Imprecise(cells []result.Cell, precision float64) []int {
	wide := make([]bool, len(cells))
	for _, t := range result.Tables(cells) {
		for _, g := range t.Groups {
			imprecise(cells, rankable(cells, g), precision, wide)
		}
	}
	var indices []int
	for i, w := range wide {
		if w {
			indices = append(indices, i)
		}
	}
	return indices
}

func imprecise(cells []result.Cell, group []int, precision float64, wide []bool) {
	if len(group) == 0 {
		return
	}
	best := fastest(cells, group)
	if len(group) == 1 {
		wide[best] = medianWidth(cells[best]) > precision
		return
	}
	for _, i := range group {
		if i != best && Compare(cells[i].Samples, cells[best].Samples, 1).HalfWidth() > precision {
			wide[i], wide[best] = true, true
		}
	}
}

// medianWidth returns how far the interval of a cell's median reaches, relative to the median.
func medianWidth(c result.Cell) float64 {
	ns, resolved := Median(times(c.Samples))
	if !resolved {
		return math.Inf(1)
	}
	return (ns.Hi - ns.Lo) / 2 / ns.Mid
}
