package stats

import (
	"math"

	"github.com/aclements/go-moremath/stats"

	"github.com/assaydb/assay/lab/result"
)

// meanOf is total time over total operations.
func meanOf(samples []result.Sample) float64 {
	var time, n float64
	for _, s := range samples {
		time, n = time+weightOf(s)*s.NS, n+weightOf(s)
	}
	return time / n
}

// weightOf is how much a sample weighs.
func weightOf(s result.Sample) float64 { return math.Max(float64(s.N), 1) }

// pulls returns how far each sample pulls the mean of all, relative to it. They add up to 0.
func pulls(samples []result.Sample) []float64 {
	mean, weight := meanOf(samples), 0.0
	for _, s := range samples {
		weight += weightOf(s) / float64(len(samples))
	}
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = weightOf(s) / weight * (s.NS/mean - 1)
	}
	return out
}

// moments are the mean products of two contenders' pulls in the same rounds, within processes and
// between them.
type moments struct {
	rounds, processes float64
	within            float64 // of rounds-processes degrees of freedom
	between           float64 // of processes-1
}

// momentsOf returns the moments of x and y, whose rounds are those of samples.
func momentsOf(samples []result.Sample, x, y []float64) moments {
	type sum struct{ n, x, y float64 }
	sums := map[int]*sum{}
	var order []*sum // floating point sums depend on it
	for i, s := range samples {
		if sums[s.Process] == nil {
			sums[s.Process] = &sum{}
			order = append(order, sums[s.Process])
		}
		p := sums[s.Process]
		p.n, p.x, p.y = p.n+1, p.x+x[i], p.y+y[i]
	}
	m := moments{rounds: float64(len(samples)), processes: float64(len(sums))}
	for _, p := range order {
		m.between += p.x * p.y / p.n
	}
	for i, s := range samples {
		p := sums[s.Process]
		m.within += (x[i] - p.x/p.n) * (y[i] - p.y/p.n)
	}
	m.within /= math.Max(m.rounds-m.processes, 1)
	m.between /= math.Max(m.processes-1, 1)
	return m
}

// inflation returns by what factor rounds that follow each other are more alike than chance has it:
// what disturbs a machine often lasts longer than a round, and so many rounds then say less than
// they seem to. values are those of samples, in time.
func inflation(samples []result.Sample, values []float64) float64 {
	var products, squares, pairs float64
	for i, v := range values {
		squares += v * v
		if i > 0 && samples[i-1].Process == samples[i].Process {
			products += v * values[i-1]
			pairs++
		}
	}
	if squares == 0 || pairs == 0 {
		return 1
	}
	n := float64(len(values))
	alike := products/pairs/(squares/n) + 1/n // it comes out too low by so much
	alike = min(max(alike, 0), mostAlike)
	alike = (n*alike + usualRounds*usualAlike) / (n + usualRounds)
	return (1 + alike) / (1 - alike)
}

const (
	// mostAlike limits what few rounds can say of each other.
	mostAlike = 0.6

	// usualAlike is how alike rounds of real engines are, which counts as usualRounds of them: what
	// ten rounds say of it may be off by 0.3.
	usualAlike, usualRounds = 0.2, 8
)

// excess is what processes differ by beyond what their rounds explain; it may come out negative.
func (m moments) excess() float64 { return (m.between - m.within) * m.processes / m.rounds }

// shrinkage is how many processes the processes of other comparisons count for in one.
const shrinkage = 4

// term is a part of a variance, and how many degrees of freedom it was measured with.
type term struct{ variance, freedom float64 }

// terms returns the variance of a mean, or the covariance of two, for which contenders is 0:
// processes of different contenders have nothing in common.
//
// There are two sources (Kalibera and Jones, ISMM 2013): rounds differ within a process, and
// processes differ for as long as they live. The few processes of one comparison say little of the
// latter by themselves, so that what they say is mixed with what all processes of the run say,
// which counts as shrinkage more of them (Smyth, 2004). Within a process rounds are not quite
// independent of each other: inflation says how much.
func (p Processes) terms(m moments, inflation, contenders float64) []term {
	pooled := shrinkage / (shrinkage + m.processes - 1)
	terms := []term{
		{pooled * m.within * inflation / m.rounds, (m.rounds - m.processes) / inflation},
		{pooled * contenders * p.Sigma * p.Sigma / m.processes, p.Freedom},
	}
	if m.processes > 1 {
		terms = append(terms, term{(1 - pooled) * m.between / m.rounds, m.processes - 1})
	}
	return terms
}

func variance(terms []term) (sum float64) {
	for _, t := range terms {
		sum += t.variance
	}
	return sum
}

// freedom is how many degrees of freedom a sum of terms has, after Satterthwaite.
func freedom(terms []term) float64 {
	var squares float64
	for _, t := range terms {
		squares += t.variance * t.variance / math.Max(t.freedom, 1)
	}
	if squares == 0 {
		return 1
	}
	return math.Max(variance(terms)*variance(terms)/squares, 1)
}

// reach is how many standard errors an interval reaches below and above an estimate that was made
// from values: as far as Student's, and farther to the side of the long tail (Johnson, JASA 73,
// 1978), for rounds without a checkpoint say too little of those with one. To the other side it
// stays, which is more than is needed.
func reach(values []float64, t float64) (below, above float64) {
	var squares, cubes float64
	for _, v := range values {
		squares, cubes = squares+v*v, cubes+v*v*v
	}
	if squares == 0 {
		return t, t
	}
	n := float64(len(values))
	skew := cubes / n / math.Pow(squares/n, 1.5)
	shift := min(max(skew*(1+2*t*t)/(6*math.Sqrt(n)), -t), t)
	return t + max(-shift, 0), t + max(shift, 0)
}

// quantile returns how many standard errors an interval reaches to either side at the level alpha.
func quantile(alpha, freedom float64) float64 {
	if freedom > 200 {
		return -stats.StdNormal.InvCDF(alpha / 2)
	}
	return -stats.InvCDF(stats.TDist{V: freedom})(alpha / 2)
}
