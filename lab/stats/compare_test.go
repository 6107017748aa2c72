package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydb/assay/lab/result"
)

// machine simulates what is measured on a real one.
type machine struct {
	rng    *rand.Rand
	noise  float64 // sigma of the logarithm of one round
	outlie float64 // share of rounds that something else disturbs, by up to several times
	drift  float64 // sigma of the machine's random walk from round to round
	bias   float64 // sigma of what distinguishes one process from another for as long as both live
	// share of rounds of all but the first that hold a checkpoint, which takes 4 times as long as
	// the rest of the round
	checks float64
}

// sittings is how many processes of a contender share the rounds.
const sittings = 3

// processes returns the samples of a contender for each effect, interleaved, in sittings processes
// each; a contender takes effect times as long as one of effect 1.
func (m machine) processes(rounds int, effects ...float64) [][]result.Sample {
	all := make([][]result.Sample, len(effects))
	bias := make([]float64, len(effects))
	walk, last := 0.0, -1
	for r := range rounds {
		process := r * sittings / rounds
		if process != last {
			last = process
			for i := range bias {
				bias[i] = m.bias * m.rng.NormFloat64()
			}
		}
		walk += m.drift * m.rng.NormFloat64()
		for i, effect := range effects {
			ns := 1000 * effect * math.Exp(walk+bias[i]+m.one())
			if i > 0 && m.rng.Float64() < m.checks {
				ns *= 5
			}
			all[i] = append(all[i], result.Sample{Round: r, N: 1, NS: ns, Process: process})
		}
	}
	return all
}

// pair returns the samples of two processes, of which the second takes effect times as long as the
// first.
func (m machine) pair(rounds int, effect float64) (a, b []result.Sample) {
	p := m.processes(rounds, 1, effect)
	return p[0], p[1]
}

func (m machine) one() float64 {
	x := m.noise * m.rng.NormFloat64()
	if m.rng.Float64() < m.outlie {
		x += math.Log1p(m.rng.ExpFloat64())
	}
	return x
}

func newMachine(noise float64) machine {
	return machine{rng: rand.New(rand.NewPCG(1, 2)), noise: noise, outlie: 0.05, drift: 0.03, bias: 0.02}
}

const simulated = 1000

// judge compares as a run does whose other comparisons have told what its processes differ by.
func judge(a, b []result.Sample, comparisons int) Comparison {
	return Processes{Sigma: 0.02, Freedom: 40}.compare(a, b, (1-Confidence)*finalShare/float64(comparisons))
}

// called returns the shares of simulated pairs that are called different and equivalent.
func called(m machine, rounds, comparisons int, effect float64) (different, equivalent float64) {
	for range simulated {
		a, b := m.pair(rounds, effect)
		switch c := judge(b, a, comparisons); {
		case c.Different:
			different += 1.0 / simulated
		case c.Equivalent:
			equivalent += 1.0 / simulated
		}
	}
	return different, equivalent
}

// found returns the share of simulated pairs that are called different.
func found(m machine, rounds, comparisons int, effect float64) float64 {
	different, _ := called(m, rounds, comparisons, effect)
	return different
}

func TestEqualProcessesAreSeldomCalledDifferent(t *testing.T) {
	noises := []float64{0.01, 0.02, 0.05, 0.15}
	if testing.Short() {
		noises = noises[3:]
	}
	for _, noise := range noises {
		for _, rounds := range []int{5, 8, 15, 30} {
			if got := found(newMachine(noise), rounds, 60, 1); got > 0.02 {
				t.Errorf("noise %g, %d rounds: %.1f %% of equal pairs are called different among 60 comparisons, want at most 2 %%", noise, rounds, 100*got)
			}
			if got := found(newMachine(noise), rounds, 1, 1); got > 0.06 {
				t.Errorf("noise %g, %d rounds: %.1f %% of equal pairs are called different in 1 comparison, want about 5 %%", noise, rounds, 100*got)
			}
		}
	}
}

// The fastest is chosen by looking, so that the others are compared with a lucky one.
func TestEqualProcessesSeldomDifferFromTheFastestOfFive(t *testing.T) {
	for _, noise := range []float64{0.01, 0.05} {
		m, tables, pairs, runs := newMachine(noise), 0, Share{}, simulated/2
		for range runs {
			run := &result.Run{}
			for e, s := range m.processes(15, 1, 1, 1, 1, 1) {
				run.Cells = append(run.Cells, cell("put", string(rune('A'+e)), s))
			}
			Finish(run)
			var k Check
			k.Add(run, func(string) float64 { return 0 })
			pairs.Part, pairs.Of, tables = pairs.Part+k.False.Part, pairs.Of+k.False.Of, tables+min(1, k.False.Part)
		}
		if got := (Share{tables, runs}); pairs.Fraction() > 0.03 || got.Fraction() > 0.10 {
			t.Errorf("noise %g: called different from the fastest of five are %v, in %v tables; want at most 3 %%, in 10 %%", noise, pairs, got)
		}
	}
}

// Who reads one operation asks nothing of the others: what they hold changes nothing.
func TestOneTableIsNotCorrectedForAnother(t *testing.T) {
	alone := &result.Run{}
	for e, s := range newMachine(0.05).processes(6, 1, 1.3, 2) {
		alone.Cells = append(alone.Cells, cell("put", string(rune('A'+e)), s))
	}
	among := &result.Run{Cells: slices.Clone(alone.Cells)}
	for i := range 150 {
		one := samples(10, 100)
		for r := range one {
			one[r].Process = 0 // what processes differ by is known from all tables
		}
		among.Cells = append(among.Cells, cell(string(rune('a'+i/6)), string(rune('A'+i%6)), one))
	}
	Finish(alone)
	Finish(among)
	for i, c := range alone.Cells {
		if got := among.Cells[i].Ratio; *got != *c.Ratio {
			t.Errorf("%s among 150 others: %+v, want %+v", c.Name(), *got, *c.Ratio)
		}
	}
}

func TestThePrintedIntervalDecides(t *testing.T) {
	for _, noise := range []float64{0.01, 0.05, 0.2} {
		m := newMachine(noise)
		for i := range simulated {
			a, b := m.pair(6+i%20, 1+float64(i%40)/100)
			c := Compare(b, a, 1+i%9)
			different := (c.Lo > 1 || c.Hi < 1) && math.Abs(math.Log(c.Mid)) > math.Log1p(MinEffect)
			equivalent := !different && c.Hi <= 1+Margin && c.Lo >= 1/(1+Margin)
			if c.Different != different || c.Equivalent != equivalent {
				t.Fatalf("%+v: its interval says different %v, equivalent %v", c, different, equivalent)
			}
		}
	}
}

func TestRealDifferencesAreFound(t *testing.T) {
	for _, c := range []struct {
		name                string
		noise, outlie       float64
		rounds, comparisons int
		effect, want        float64
	}{
		{"15 % in 24 rounds", 0.02, 0, 24, 4, 1.15, 0.9},
		{"15 % in 24 rounds, the other way round", 0.02, 0, 24, 4, 1 / 1.15, 0.9},
		{"25 % in 24 rounds of a noisy machine", 0.05, 0.01, 24, 4, 1.25, 0.7},
		{"twice as slow in 12 rounds", 0.02, 0.05, 12, 4, 2, 0.8},
		{"ten times as slow in 6 rounds", 0.02, 0.05, 6, 4, 10, 0.9},
		{"ten times as slow in 5 rounds", 0.02, 0.05, 5, 4, 10, 0.75},
	} {
		m := newMachine(c.noise)
		m.outlie = c.outlie
		if got := found(m, c.rounds, c.comparisons, c.effect); got < c.want {
			t.Errorf("%s: found in %.1f %% of runs, want %.0f %%", c.name, 100*got, 100*c.want)
		}
	}
}

// What is outside of the margin is hardly ever called equivalent, however much noise there is and
// however few rounds. A tie that only means "not shown to differ" fails here: most pairs of few
// rounds are one.
func TestWhatIsNotWithinTheMarginIsNotEquivalent(t *testing.T) {
	for _, noise := range []float64{0.01, 0.05, 0.3} {
		for _, rounds := range []int{3, 5, 15} {
			for _, truth := range []struct{ effect, most float64 }{{1.15, 0.025}, {1 / 1.25, 0.002}, {1.5, 0.002}} {
				if _, got := called(newMachine(noise), rounds, 1, truth.effect); got > truth.most {
					t.Errorf("noise %g, %d rounds: %.1f %% of pairs with a ratio of %.2f are called equivalent, want at most %.1f %%",
						noise, rounds, 100*got, truth.effect, 100*truth.most)
				}
			}
		}
	}
}

func TestEqualProcessesAreFoundEquivalent(t *testing.T) {
	for _, c := range []struct {
		name                string
		noise, bias         float64
		rounds, comparisons int
		effect, want        float64
	}{
		{"equal, 24 rounds, one comparison", 0.02, 0.01, 24, 1, 1, 0.8},
		{"equal, 30 rounds, with the best of five", 0.02, 0.005, 30, 4, 1, 0.7},
		{"2 % slower, 30 rounds, with the best of five", 0.01, 0.002, 30, 4, 1.02, 0.3},
	} {
		m := newMachine(c.noise)
		m.bias, m.outlie = c.bias, 0
		if _, got := called(m, c.rounds, c.comparisons, c.effect); got < c.want {
			t.Errorf("%s: found in %.1f %% of runs, want %.0f %%", c.name, 100*got, 100*c.want)
		}
	}
	if different, equivalent := called(newMachine(0.15), 6, 4, 1.08); different+equivalent > 0.05 {
		t.Errorf("8 %% slower in 6 rounds of much noise: %.1f %% different, %.1f %% equivalent, want nearly all open",
			100*different, 100*equivalent)
	}
}

func TestIntervalCoversTheRatio(t *testing.T) {
	for _, rounds := range []int{5, 8, 15, 30} {
		m, covered := newMachine(0.05), 0
		m.bias = 0
		for range simulated {
			a, b := m.pair(rounds, 1.5)
			if c := Compare(b, a, 1); c.Lo <= 1.5 && 1.5 <= c.Hi {
				covered++
			}
		}
		if got := float64(covered) / simulated; got < 0.93 {
			t.Errorf("%d rounds: the 95 %% interval covers the ratio in %.1f %% of runs", rounds, 100*got)
		}
	}
}

// A checkpoint in one round of ten is part of the price: what it adds to the mean is neither
// trimmed nor missed.
func TestCheckpointsAreInTheRatio(t *testing.T) {
	m, covered, sum := newMachine(0.05), 0, 0.0
	m.outlie, m.checks = 0, 0.1
	const rounds, truth = 60, 1.4
	for range simulated {
		even, tailed := m.pair(rounds, 1)
		c := Compare(tailed, even, 1)
		sum += math.Log(c.Mid)
		if c.Lo <= truth && truth <= c.Hi {
			covered++
		}
	}
	if got := math.Exp(sum / simulated); got < 1.2 {
		t.Errorf("a checkpoint of 4 rounds in every tenth round: the ratio is %.2f on average, want about %v", got,
			truth)
	}
	if got := float64(covered) / simulated; got < 0.9 {
		t.Errorf("the 95 %% interval holds the ratio of the means in %.1f %% of runs", 100*got)
	}
}

// One round that took 100 times as long as the others decides nothing: it is in the mean, and in
// the interval.
func TestOneOutlierDecidesNothing(t *testing.T) {
	m := newMachine(0.02)
	m.outlie = 0
	for range 100 {
		a, b := m.pair(24, 1)
		b[3].NS *= 100
		if c := Compare(b, a, 1); c.Different || c.Equivalent {
			t.Fatalf("with an outlier: %+v, want open", c)
		}
	}
}

func TestOnlyRoundsThatBothHaveArePaired(t *testing.T) {
	a := []result.Sample{{Round: 0, NS: 2}, {Round: 1, NS: 20}, {Round: 2, NS: 200}, {Round: 7, NS: 1},
		{Round: 8, NS: 0}}
	b := []result.Sample{{Round: 2, NS: 100}, {Round: 1, NS: 10}, {Round: 0, NS: 1}, {Round: 9, NS: 1},
		{Round: 8, NS: 1}}
	c := Compare(a, b, 1)
	if c.Rounds != 3 || math.Abs(c.Mid-2) > 1e-9 {
		t.Errorf("got %d rounds and a ratio of %g, want 3 and 2", c.Rounds, c.Mid)
	}
	if c.Different || c.Enough() || !math.IsInf(c.HalfWidth(), 1) {
		t.Errorf("3 rounds: different %v, enough %v, half-width %g; want false, false, +Inf", c.Different, c.Enough(),
			c.HalfWidth())
	}
	if none := Compare(a, nil, 1); none.Rounds != 0 || none.Different || !math.IsNaN(none.Mid) {
		t.Errorf("with nothing: got %+v, want no rounds and NaN", none)
	}
}

// Rounds can hardly tell a mean from 0 in which one stall is nearly all: the interval of a ratio to
// it has no end. That is no bound to print, and no reason not to measure again.
func TestAnIntervalWithoutEndIsTooFewRounds(t *testing.T) {
	var a, b []result.Sample
	for i := range 7 {
		a = append(a, result.Sample{Round: i, N: 100, NS: 100 + 10*float64(i%3)})
		b = append(b, result.Sample{Round: i, N: 100, NS: 20 + 2*float64(i%2)})
	}
	b[3].NS = 500
	c := Compare(a, b, 3)
	if c.Enough() || c.Different || c.Equivalent || !math.IsInf(c.HalfWidth(), 1) {
		t.Errorf("got %+v, want open with too few rounds", c)
	}
	if least := a[3].NS / b[3].NS; math.Abs(c.Lo-least) > 1e-9 || c.Hi > 6 || c.Mid < c.Lo || c.Mid > c.Hi {
		t.Errorf("got [%v-%v], want the range of the rounds", c.Lo, c.Hi)
	}
	if more := c.more(); more != unknown {
		t.Errorf("needs %v times as many rounds, want %v", more, unknown)
	}
	for i := range b { // of strangers, too
		b[i].Round += len(a)
	}
	if c := Compare(a, b, 3); c.Enough() || c.Lo != 1 || c.Hi != c.Mid {
		t.Errorf("with no round in common: got %+v", c)
	}
}

// Whoever is surely slower stays so, though by how much is unknown above.
func TestWhoIsSurelySlowerIsDecidedHoweverWideTheInterval(t *testing.T) {
	var a, b []result.Sample
	for i := range 6 {
		a = append(a, result.Sample{Round: i, N: 10, NS: 1000 + 100*float64(i%3-1)})
		b = append(b, result.Sample{Round: i, N: 10, NS: 10 + 9*float64(i%2)})
	}
	if c := Compare(a, b, 5); !c.Enough() || !c.Different || c.Hi > widest*c.Mid || c.Lo <= 1 {
		t.Errorf("got %+v, want slower", c)
	}
}

// The ratio of few rounds lies within their range, although it weighs them by their operations.
func TestTheRangeOfFewRoundsHoldsTheirRatio(t *testing.T) {
	a := []result.Sample{{Round: 0, N: 1, NS: 70}, {Round: 1, N: 100, NS: 700}}
	b := []result.Sample{{Round: 0, N: 100, NS: 10}, {Round: 1, N: 1, NS: 100}}
	if c := Compare(a, b, 1); c.Lo > c.Mid || c.Mid > c.Hi || c.Enough() {
		t.Errorf("got %+v", c)
	}
}

// Few rounds know their own variance badly, which more of them mend: fewer are needed than by the
// interval of the few.
func TestMoreRoundsKnowTheVarianceBetter(t *testing.T) {
	a, b := newMachine(0.1).pair(6, 1.25)
	c := Processes{Sigma: 0.01, Freedom: 40}.compare(b, a, 0.0125)
	if c.Different {
		t.Fatal("6 rounds decide: nothing to look at")
	}
	if got, alone := c.more(), c.needs(1)-1; got <= 0 || got >= alone {
		t.Errorf("%.1f times as many more, want some, and fewer than %.1f", got, alone)
	}
}
