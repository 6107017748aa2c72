package stats

import (
	"math"

	"github.com/assaydb/assay/lab/result"
)

// ratio is what is known of the ratio of two means, relative to the estimate: the variances of the
// numerator and of the denominator, and their covariance.
//
// The interval is Fieller's: it holds every ratio r that the test of "the first takes r times as
// long as the second" does not refute. That test is of the difference of two totals. A logarithm's
// standard error would not do: one round that takes a hundred times as long looks like a difference
// there, and here it is one round.
type ratio struct {
	first, second, both float64
	freedom             float64
	pulls               []float64 // of the difference, for how skewed it is
}

// ofPairs returns the ratio of x to y, which are of the same rounds: what slowed both down in a
// round cancels out.
func (p Processes) ofPairs(x, y []result.Sample) ratio {
	a, b := pulls(x), pulls(y)
	d := differences(a, b)
	f := inflation(x, d)
	both := p.terms(momentsOf(x, d, d), f, 2)
	return ratio{
		first: variance(p.terms(momentsOf(x, a, a), f, 1)), second: variance(p.terms(momentsOf(y, b, b), f, 1)),
		both: variance(p.terms(momentsOf(x, a, b), f, 0)), freedom: freedom(both), pulls: d,
	}
}

// differences returns how far the pulls a are above the pulls b.
func differences(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
}

// ofStrangers returns the ratio of x to y, which share no round.
func (p Processes) ofStrangers(x, y []result.Sample) ratio {
	a, b := pulls(x), pulls(y)
	one := p.terms(momentsOf(x, a, a), inflation(x, a), 1)
	other := p.terms(momentsOf(y, b, b), inflation(y, b), 1)
	r := ratio{first: variance(one), second: variance(other), freedom: freedom(append(one, other...)), pulls: a}
	if r.second > r.first {
		for i := range b {
			b[i] = -b[i]
		}
		r.pulls = b
	}
	return r
}

// at returns the variance of the first minus r times the second.
func (v ratio) at(r float64) float64 {
	return math.Max(v.first-2*r*v.both+r*r*v.second, 0)
}

// interval returns the bounds at the level alpha, relative to the estimate: from 0 where nothing is
// too small, to infinity where nothing is too large.
func (v ratio) interval(alpha float64) (lo, hi float64) {
	t := quantile(alpha, v.freedom)
	below, above := reach(v.pulls, t)
	lo, _ = v.roots(below)
	_, hi = v.roots(above)
	return lo, hi
}

// roots solves (1-r)² = t²·at(r).
func (v ratio) roots(t float64) (lo, hi float64) {
	a, b, c := 1-t*t*v.second, 1-t*t*v.both, 1-t*t*v.first
	square := b*b - a*c
	if square < 0 {
		return 0, math.Inf(1)
	}
	root := b + math.Sqrt(square)
	if lo = c / root; c <= 0 || root <= 0 {
		lo = 0
	}
	if hi = root / a; a <= 0 || root <= 0 {
		hi = math.Inf(1)
	}
	return lo, hi
}
