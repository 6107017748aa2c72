// Package stats turns the samples of a run into estimates, comparisons and verdicts.
//
// Everything here is a function of what was measured: a run that was read from disk gives the same
// numbers again. What ranks is the mean, total time over total operations; see [Compare] for how
// two are compared, [Look] for who needs more rounds, and docs/measuring.md for the whole.
package stats

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"github.com/assaydb/assay/lab/result"
)

// Confidence is the level of every interval that is shown.
const Confidence = 0.95

// MinMedian is the smallest sample for which a median has a 95 % interval: the smallest and the
// largest of 6 values enclose it in 31 of 32 cases.
const MinMedian = 6

// Median returns the median of values and its interval from order statistics, which assumes nothing
// of how the values are distributed. resolved is false if there are fewer than [MinMedian] values:
// the bounds are then the smallest and the largest value, and are not an interval of any
// confidence. Values that are not finite are left out; of none, all three are NaN.
func Median(values []float64) (ns result.Interval, resolved bool) {
	values = finite(values)
	if len(values) == 0 {
		return result.Interval{Lo: math.NaN(), Mid: math.NaN(), Hi: math.NaN()}, false
	}
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(values, &benchmath.DefaultThresholds), Confidence)
	ns = result.Interval{Lo: s.Lo, Mid: s.Center, Hi: s.Hi}
	if len(values) < MinMedian || math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		ns.Lo, ns.Hi = slices.Min(values), slices.Max(values)
		return ns, false
	}
	return ns, true
}

// finite returns a copy of values without NaN and infinities.
func finite(values []float64) []float64 {
	kept := make([]float64, 0, len(values))
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			kept = append(kept, v)
		}
	}
	return kept
}
