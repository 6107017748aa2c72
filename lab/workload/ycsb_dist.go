package workload

import (
	"math"
	"math/rand/v2"
)

// theta is the skew of every zipfian distribution here, the constant of the Yahoo! Cloud Serving
// Benchmark (Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", SoCC 2010).
const theta = 0.99

// zipfian draws ranks of which rank i comes up in proportion to 1/(i+1)^theta, in constant time, by
// the method of Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994,
// section 4.2: ranks 0 and 1 are exact, the others follow the continuous curve through them.
type zipfian struct {
	n    uint64  // ranks are in [0, n)
	zeta float64 // zeta(n), by which the proportions add up to 1
	eta  float64 // fits the curve to what ranks 0 and 1 leave
}

// zeta2 is zeta(2).
var zeta2 = 1 + math.Pow(2, -theta)

// newZipfian returns the distribution over n ranks, at least one.
func newZipfian(n uint64) zipfian {
	z := zipfian{n: n, zeta: zeta(n)}
	z.fit()
	return z
}

// grow adds one rank at the end.
func (z *zipfian) grow() {
	z.n++
	z.zeta += math.Pow(float64(z.n), -theta)
	z.fit()
}

func (z *zipfian) fit() {
	z.eta = (1 - math.Pow(2/float64(z.n), 1-theta)) / (1 - zeta2/z.zeta)
}

// rank turns u, uniform in [0, 1), into a rank.
func (z *zipfian) rank(u float64) uint64 {
	switch uz := u * z.zeta; {
	case uz < 1 || z.n == 1:
		return 0
	case uz < zeta2 || z.n == 2:
		return 1
	}
	r := uint64(float64(z.n) * math.Pow(z.eta*u-z.eta+1, 1/(1-theta)))
	return min(r, z.n-1)
}

// zeta returns the sum of 1/i^theta for i from 1 to n. Terms after the first thousand are summed by
// the formula of Euler and Maclaurin, whose error here is below 1e-12, so that ten billion of them
// cost nothing.
func zeta(n uint64) float64 {
	const head = 1000
	sum := 0.0
	for i := uint64(1); i <= min(n, head); i++ {
		sum += math.Pow(float64(i), -theta)
	}
	if n <= head {
		return sum
	}
	a, b := float64(head), float64(n)
	pa, pb := math.Pow(a, -theta), math.Pow(b, -theta)
	integral := (math.Pow(b, 1-theta) - math.Pow(a, 1-theta)) / (1 - theta)
	return sum + integral + (pb-pa)/2 + theta/12*(pa/a-pb/b)
}

// scatteredRanks is how many ranks the scattered zipfian distribution has, as YCSB fixes it: the
// popularity of the first ones then does not depend on the number of records.
const scatteredRanks = 10_000_000_000

// picker chooses records by number.
type picker interface {
	// pick returns one of the records [0, live).
	pick(r *rand.Rand, live uint64) uint64
}

// uniform gives every record the same chance.
type uniform struct{}

func (uniform) pick(r *rand.Rand, live uint64) uint64 { return r.Uint64N(live) }

// scattered is YCSB's scrambled zipfian distribution: ranks are hashed onto the records, so that
// the popular ones lie all over the store. It chooses among the first n records however many are
// added, so that the popular ones stay so.
type scattered struct {
	n     uint64
	ranks zipfian
}

func newScattered(n uint64) *scattered { return &scattered{n: n, ranks: newZipfian(scatteredRanks)} }

func (s *scattered) pick(r *rand.Rand, _ uint64) uint64 {
	return scatter(s.ranks.rank(r.Float64())) % s.n
}

// latest is YCSB's skewed latest distribution: the newest record is the most popular, the one
// before it the next.
type latest struct{ ranks zipfian }

func newLatest(n uint64) *latest { return &latest{ranks: newZipfian(n)} }

func (l *latest) pick(r *rand.Rand, live uint64) uint64 {
	for l.ranks.n < live {
		l.ranks.grow()
	}
	return live - 1 - l.ranks.rank(r.Float64())
}

// scatter hashes n, its bytes taken from the lowest, by 64-bit FNV-1a (Fowler, Noll and Vo), as
// YCSB does.
func scatter(n uint64) uint64 {
	h := uint64(14695981039346656037)
	for range 8 {
		h ^= n & 0xff
		h *= 1099511628211
		n >>= 8
	}
	return h
}
