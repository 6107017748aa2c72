package stats

import (
	"math"

	"github.com/assaydb/assay/lab/result"
)

const (
	// MinEffect is the smallest difference that is called one, however sure it is: 5 % decides
	// nobody's choice.
	MinEffect = 0.05

	// Margin is how far the ratio of two contenders may be from 1, either way, if they are called
	// equivalent: 10 %.
	Margin = 0.10

	// MinRounds is the fewest rounds that can show a difference.
	MinRounds = 5
)

// Comparison is the ratio of the times of two contenders: above 1, the first is slower.
type Comparison struct {
	// Lo, Mid, Hi are the estimate and its interval: 95 %, corrected for the number of comparisons
	// and for how often they are looked at. It decides.
	Lo, Mid, Hi float64
	Rounds      int // that both took part in; if there is none, those of the one that has fewer

	// Different: the interval is clear of 1, and Mid is at least MinEffect away from it.
	Different bool

	// Equivalent: not Different, and the whole interval is within Margin of 1. That two were not
	// shown to differ is not enough: where there is little data, nothing is. What is neither
	// Different nor Equivalent is open.
	Equivalent bool

	ratio ratio
	alpha float64
	vague bool // the interval would reach too far to say anything
}

// Enough reports whether there were enough rounds for an interval: at least MinRounds, and as many
// as it takes not to reach beyond ten times the estimate. Without, Lo and Hi are the smallest and
// the largest ratio, and the comparison is open.
func (c Comparison) Enough() bool { return c.Rounds >= MinRounds && !c.vague }

// decided reports whether it is not open.
func (c Comparison) decided() bool { return c.Different || c.Equivalent }

// HalfWidth is how far the interval reaches from the middle, relative to it: 0.05 is ±5 %. It is
// infinite if there were too few rounds.
func (c Comparison) HalfWidth() float64 {
	if !c.Enough() {
		return math.Inf(1)
	}
	return math.Expm1(math.Log(c.Hi/c.Lo) / 2)
}

// Compare compares the times a with the times b; comparisons is how many are made with the same
// contender, at least 1: those of one table, for each is read by itself. What distinguishes two
// processes of a program is taken from these samples and from what [Usual] says.
//
// The estimate is the ratio of two means, each total time over total operations of the rounds that
// both have, so that drift of the machine meets both alike. Two contenders that share no round were
// not measured together; their means are then compared as they are, and the interval does not know
// how the machine changed between them.
func Compare(a, b []result.Sample, comparisons int) Comparison {
	return Usual.compare(a, b, (1-Confidence)*finalShare/float64(max(1, comparisons)))
}

func (p Processes) compare(a, b []result.Sample, alpha float64) Comparison {
	x, y := paired(a, b)
	if len(x) == 0 {
		return p.apart(a, b, alpha)
	}
	c := Comparison{Rounds: len(x), Mid: meanOf(x) / meanOf(y)}
	if !c.Enough() {
		return c.span(x, y)
	}
	if c = c.decide(p.ofPairs(x, y), alpha); c.vague {
		c = c.span(x, y)
		c.Lo, c.Hi = min(c.Lo, 1), max(c.Hi, 1)
	}
	return c
}

// span sets the bounds where there are too few rounds for an interval.
func (c Comparison) span(x, y []result.Sample) Comparison {
	c.Lo, c.Hi = c.Mid, c.Mid // which weighs the rounds, and so may lie beyond their ratios
	for i := range x {
		c.Lo, c.Hi = min(c.Lo, x[i].NS/y[i].NS), max(c.Hi, x[i].NS/y[i].NS)
	}
	return c
}

// apart compares contenders that share no round.
func (p Processes) apart(a, b []result.Sample, alpha float64) Comparison {
	a, b = positive(a), positive(b)
	c := Comparison{Rounds: min(len(a), len(b)), Lo: math.NaN(), Mid: math.NaN(), Hi: math.NaN()}
	if c.Rounds == 0 {
		return c
	}
	c.Mid = meanOf(a) / meanOf(b)
	if c.Lo, c.Hi = c.Mid, c.Mid; !c.Enough() {
		return c
	}
	if c = c.decide(p.ofStrangers(a, b), alpha); c.vague {
		c.Lo, c.Hi = min(c.Mid, 1), max(c.Mid, 1)
	}
	return c
}

// widest is the factor by which an interval reaches beyond its estimate at most. One that reaches
// farther, often without end, comes of a mean that its own rounds can hardly tell from 0: unless it
// is clear of 1, there are too few of them.
const widest = 10

// decide sets the interval of a ratio and what follows from it.
func (c Comparison) decide(r ratio, alpha float64) Comparison {
	c.ratio, c.alpha = r, alpha
	lo, hi := r.interval(alpha)
	c.Lo, c.Hi = c.Mid*max(lo, 1./widest), c.Mid*min(hi, widest)
	c.Different = math.Abs(math.Log(c.Mid)) > math.Log1p(MinEffect) && (c.Mid*lo > 1 || c.Mid*hi < 1)
	c.Equivalent = !c.Different && c.Hi <= 1+Margin && c.Lo >= 1/(1+Margin)
	c.vague = !c.Different && (lo < 1./widest || hi > widest)
	return c
}

// unknown is how many more rounds, as a multiple of those so far, are taken to be needed where they
// are too few to tell.
const unknown = 3

// more returns how many more rounds, with processes in proportion, a comparison needs to be
// decided, as a multiple of those that it has, if the estimate is the truth.
func (c Comparison) more() float64 {
	if !c.Enough() {
		return unknown
	}
	need := c.needs(1)
	// More rounds tell the variance better, too, so that fewer of them are enough: most so where
	// there are few.
	for range 4 {
		if math.IsInf(need, 1) {
			break
		}
		need = math.Sqrt(need * c.needs(need))
	}
	return max(need-1, 0)
}

// needs returns how many times as many rounds decide a comparison, if the variance is known as well
// as by so many times as many.
func (c Comparison) needs(rounds float64) float64 {
	t := quantile(c.alpha, c.ratio.freedom*max(rounds, 1))
	refute := func(r float64) float64 { // how many times as many rounds refute that the ratio is r
		far := 1 - r/c.Mid
		return t * t * c.ratio.at(r/c.Mid) / (far * far)
	}
	need := math.Inf(1)
	if math.Abs(math.Log(c.Mid)) > math.Log1p(MinEffect) {
		need = refute(1)
	}
	if c.Mid < 1+Margin && c.Mid > 1/(1+Margin) {
		need = min(need, max(refute(1+Margin), refute(1/(1+Margin))))
	}
	return need
}

// paired returns the samples of the rounds that both have a positive time of, in the same order.
func paired(a, b []result.Sample) (x, y []result.Sample) {
	other := make(map[int]result.Sample, len(b))
	for _, s := range positive(b) {
		other[s.Round] = s
	}
	for _, s := range positive(a) {
		if o, ok := other[s.Round]; ok {
			x, y = append(x, s), append(y, o)
		}
	}
	return x, y
}

// positive returns the samples that have a time.
func positive(samples []result.Sample) []result.Sample {
	kept := make([]result.Sample, 0, len(samples))
	for _, s := range samples {
		if s.NS > 0 && !math.IsInf(s.NS, 0) {
			kept = append(kept, s)
		}
	}
	return kept
}
