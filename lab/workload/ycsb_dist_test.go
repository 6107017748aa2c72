package workload

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

func TestZetaSumsItsTerms(t *testing.T) {
	sum := 0.0
	for i := 1; i <= 100_000; i++ {
		sum += math.Pow(float64(i), -theta)
		switch i {
		case 1, 2, 999, 1000, 1001, 1500, 100_000:
			if got := zeta(uint64(i)); math.Abs(got-sum) > 1e-10 {
				t.Errorf("zeta(%d) = %.13f, want %.13f", i, got, sum)
			}
		}
	}
	// The figure that YCSB's documentation gives for ten billion items.
	if got, want := zeta(scatteredRanks), 26.46902820178302; math.Abs(got-want) > 1e-6 {
		t.Errorf("zeta(1e10) = %.10f, want %.10f", got, want)
	}
}

func TestZipfianFollowsTheLaw(t *testing.T) {
	const n, draws = 1000, 1_000_000
	z, r := newZipfian(n), rand.New(rand.NewPCG(1, 2))
	var counts [n]float64
	for range draws {
		counts[z.rank(r.Float64())]++
	}
	// Ranks 0 and 1 are exact; the method fits the rest by a curve, so groups of ranks are
	// compared.
	share := func(from, to int) (got, want float64) {
		for i := from; i < to; i++ {
			got += counts[i] / draws
			want += math.Pow(float64(i+1), -theta) / z.zeta
		}
		return got, want
	}
	for _, c := range []struct {
		from, to  int
		tolerance float64 // relative
	}{
		{0, 1, 0.01}, {1, 2, 0.02}, {2, 10, 0.1}, {10, 100, 0.1}, {100, 1000, 0.1},
	} {
		if got, want := share(c.from, c.to); math.Abs(got/want-1) > c.tolerance {
			t.Errorf("ranks %d to %d have a share of %.4f, want %.4f", c.from, c.to-1, got, want)
		}
	}
}

func TestZipfianOfFewRanksStaysInside(t *testing.T) {
	for n := uint64(1); n <= 5; n++ {
		z := newZipfian(n)
		for _, u := range []float64{0, 0.3, 0.6, 0.9, math.Nextafter(1, 0)} {
			if got := z.rank(u); got >= n {
				t.Errorf("rank(%v) of %d ranks = %d", u, n, got)
			}
		}
	}
}

func TestAZipfianThatGrewEqualsANewOne(t *testing.T) {
	grown := newZipfian(900)
	for range 300 {
		grown.grow()
	}
	want := newZipfian(1200)
	if math.Abs(grown.zeta-want.zeta) > 1e-9 || math.Abs(grown.eta-want.eta) > 1e-9 {
		t.Errorf("grown to %+v, want %+v", grown, want)
	}
}

func TestScatteredFavoursTheSameRecordsAllOverTheStore(t *testing.T) {
	const n, draws = 1000, 500_000
	p, r := newScattered(n), rand.New(rand.NewPCG(3, 4))
	var counts [n]float64
	for range draws {
		counts[p.pick(r, n+500)]++
	}
	// The first rank has 1/zeta(1e10) of the draws; its record gets those, and what the tail
	// spreads over all.
	first := scatter(0) % n
	if got, least := counts[first]/draws, 1/p.ranks.zeta; got < least || got > least+0.005 {
		t.Errorf("the most popular record has a share of %.4f, want %.4f or a little more", got, least)
	}
	for i, c := range counts {
		if c == 0 {
			t.Errorf("record %d never came up", i)
		}
	}
}

func TestLatestPrefersNewRecords(t *testing.T) {
	const n, draws = 1000, 200_000
	p, r := newLatest(n), rand.New(rand.NewPCG(5, 6))
	var newest, older, oldest float64
	live := uint64(n)
	for i := range draws {
		if i%1000 == 0 {
			live++
		}
		switch age := live - 1 - p.pick(r, live); {
		case age == 0:
			newest++
		case age < 10:
			older++
		case age >= live/2:
			oldest++
		}
	}
	if got, want := newest/draws, 1/zeta(n+100); math.Abs(got/want-1) > 0.03 {
		t.Errorf("the newest record has a share of %.4f, want %.4f", got, want)
	}
	if older < 2*oldest {
		t.Errorf("ages 1 to 9 came up %v times, the older half %v times", older, oldest)
	}
}

func TestScatterIsFNV(t *testing.T) {
	for _, n := range []uint64{0, 1, 255, 256, 1 << 40, math.MaxUint64} {
		h := fnv.New64a()
		for s := 0; s < 64; s += 8 {
			h.Write([]byte{byte(n >> s)})
		}
		if got, want := scatter(n), h.Sum64(); got != want {
			t.Errorf("scatter(%d) = %x, want %x", n, got, want)
		}
	}
}
