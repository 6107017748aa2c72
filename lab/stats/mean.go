package stats

import (
	"math"

	"github.com/assaydb/assay/lab/result"
)

// Mean returns what an operation costs: total time over total operations of samples, and its 95 %
// interval. Of fewer than [MinRounds] samples the bounds are the fastest and the slowest, and are
// not an interval of any confidence; of none, all three are NaN.
func Mean(samples []result.Sample) result.Interval { return Usual.mean(samples) }

func (p Processes) mean(samples []result.Sample) result.Interval {
	samples = positive(samples)
	if len(samples) == 0 {
		return result.Interval{Lo: math.NaN(), Mid: math.NaN(), Hi: math.NaN()}
	}
	ns := result.Interval{Lo: math.Inf(1), Mid: meanOf(samples)}
	if len(samples) < MinRounds {
		for _, s := range samples {
			ns.Lo, ns.Hi = min(ns.Lo, s.NS), max(ns.Hi, s.NS)
		}
		return ns
	}
	values := pulls(samples)
	terms := p.terms(momentsOf(samples, values, values), inflation(samples, values), 1)
	below, above := reach(values, quantile(1-Confidence, freedom(terms)))
	sigma := math.Sqrt(variance(terms))
	ns.Lo, ns.Hi = ns.Mid*max(1-below*sigma, 0), ns.Mid*(1+above*sigma)
	return ns
}
