package stats

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"github.com/assaydb/assay/lab/result"
)

const (
	// MinEffect is the smallest difference that is called one, however sure it is: 5 % decides nobody's choice.
	MinEffect = 0.05

	// Margin is how far the ratio of two contenders may be from 1, either way, if they are called equivalent: 10 %.
	Margin = 0.10

	// processSigma is how much two processes that run the same program on the same machine differ for as long as they
	// live, each to either side, by where their memory and files happen to lie: 2 %. No number of rounds averages that
	// out. Were it left out, then the longer a run, the more such accidents it would report.
	processSigma = 0.02

	// MinRounds is the fewest rounds that can show a difference: below it too few are left after trimming.
	MinRounds = 5

	// trim is the share of rounds that is left out at either end: every fifth may be an outlier.
	trim = 0.2
)

// Comparison is the ratio of the times of two contenders: above 1, the first is slower.
type Comparison struct {
	// Lo, Mid, Hi are the estimate and its interval: 95 %, corrected for the number of comparisons, and widened by what
	// distinguishes two processes. It decides.
	Lo, Mid, Hi float64
	Rounds      int // that both took part in

	// Different: the interval is clear of 1, and Mid is at least MinEffect away from it.
	Different bool

	// Equivalent: not Different, and the whole interval is within Margin of 1. That two were not shown to differ
	// is not enough: where there is little data, nothing is. What is neither Different nor Equivalent is open.
	Equivalent bool

	chance float64 // how far the 95 % interval of chance alone reaches, as a logarithm
}

// Enough reports whether there were enough rounds for an interval. Without, Lo and Hi are the smallest and the largest
// ratio, and the comparison is open.
func (c Comparison) Enough() bool { return c.Rounds >= MinRounds }

// HalfWidth is how far chance alone reaches from the middle, relative to it and at 95 %: 0.05 is ±5 %. More rounds make
// it smaller, unlike what distinguishes two processes. It is infinite if there were too few rounds.
func (c Comparison) HalfWidth() float64 {
	if !c.Enough() {
		return math.Inf(1)
	}
	return math.Expm1(c.chance)
}

// Compare compares the times a with the times b, by the rounds that both have; comparisons is how many are
// made with the same contender, at least 1: those of one table, for each is read by itself.
//
// The ratio of each round is free of the machine's drift. Its logarithm makes twice as fast and twice as slow equally
// far from none. The centre is the mean of the logarithms without the fifth at either end, and the interval is
// Yuen's: Student's t with the Winsorized variance. The alternatives were simulated (see the tests): the interval of
// the sign test and that of Wilcoxon's hold their level but cannot reach the corrected one in fewer than 12 to 16
// rounds, so that a tenfold difference would be open in a short run; the plain t interval is stretched by a single
// outlier.
//
// The correction is Bonferroni's, and the interval allows for the accidents of two processes. Merely requiring a larger effect was simulated too: it either misses more differences or invents more.
func Compare(a, b []result.Sample, comparisons int) Comparison {
	logs := pairedLogs(a, b)
	c := Comparison{Rounds: len(logs), Lo: math.NaN(), Mid: math.NaN(), Hi: math.NaN()}
	if len(logs) == 0 {
		return c
	}
	slices.Sort(logs)
	mid, err, df := trimmedMean(logs)
	c.Mid = math.Exp(mid)
	if !c.Enough() {
		c.Lo, c.Hi = math.Exp(logs[0]), math.Exp(logs[len(logs)-1])
		return c
	}
	c.chance = err * quantile(1-Confidence, df)
	alpha := (1 - Confidence) / float64(max(1, comparisons))
	reach := math.Hypot(err*quantile(alpha, df), processSigma*math.Sqrt2*-stats.StdNormal.InvCDF(alpha/2))
	c.Lo, c.Hi = math.Exp(mid-reach), math.Exp(mid+reach)
	c.Different = math.Abs(mid) > max(reach, math.Log1p(MinEffect))
	c.Equivalent = !c.Different && math.Abs(mid)+reach <= math.Log1p(Margin)
	return c
}

// pairedLogs returns the logarithm of a/b for each round that both have a positive time of.
func pairedLogs(a, b []result.Sample) []float64 {
	times := make(map[int]float64, len(b))
	for _, s := range b {
		times[s.Round] = s.NS
	}
	var logs []float64
	for _, s := range a {
		if l := math.Log(s.NS / times[s.Round]); s.NS > 0 && times[s.Round] > 0 && !math.IsNaN(l) && !math.IsInf(l, 0) {
			logs = append(logs, l)
		}
	}
	return logs
}

// trimmedMean returns the trimmed mean of sorted values, its standard error and the degrees of freedom, after Yuen
// (Biometrika 61, 1974). Of fewer than 2 values the error is 0.
func trimmedMean(sorted []float64) (mean, err float64, df int) {
	n := len(sorted)
	cut := int(trim * float64(n))
	kept := n - 2*cut
	for _, v := range sorted[cut : n-cut] {
		mean += v / float64(kept)
	}
	if kept < 2 {
		return mean, 0, 0
	}
	lo, hi := sorted[cut], sorted[n-1-cut]
	var winsorized, squares float64
	for _, v := range sorted {
		winsorized += min(max(v, lo), hi) / float64(n)
	}
	for _, v := range sorted {
		d := min(max(v, lo), hi) - winsorized
		squares += d * d
	}
	return mean, math.Sqrt(squares / float64(kept*(kept-1))), kept - 1
}

// quantile returns how many standard errors an interval reaches to either side at the level alpha.
func quantile(alpha float64, df int) float64 {
	return -stats.InvCDF(stats.TDist{V: float64(df)})(alpha / 2)
}
