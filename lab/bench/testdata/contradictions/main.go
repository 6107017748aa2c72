// Contradictions counts in how many decided comparisons runs of the same program contradict each
// other:
//
//	for i in 1 2 3 4 5 6 7 8 9 10; do assay run --out runs/$i; done
//	go run ./lab/bench/testdata/contradictions runs/*
//
// Every run is compared with every other. Two contradict each other about a pair of contenders if
// both have decided how these compare, and one calls faster what the other calls slower, or
// different what the other calls equivalent, in intervals that have no ratio in common. It prints
// each, and ends with status 1 if they are more than 1 in 1,000.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/lab/result"
)

func main() {
	runs := make([]decided, len(os.Args)-1)
	for i, dir := range os.Args[1:] {
		run, err := result.Read(filepath.Join(dir, result.DocumentFile))
		if err != nil {
			fmt.Fprintln(os.Stderr, "contradictions:", err)
			os.Exit(2)
		}
		var all int
		runs[i], all = decidedIn(run)
		fmt.Printf("%s: %d of %d comparisons decided, measured %.1f%% of %.0f s\n", dir, len(runs[i])/2, all,
			100*run.Measured.Seconds()/run.Took.Seconds(), run.Took.Seconds())
	}
	both, wrong := 0, 0
	for i, one := range runs {
		for j, other := range runs[:i] {
			for p, x := range one {
				y, ok := other[p]
				if !ok || p.first > p.second { // each pair is there both ways
					continue
				}
				if both++; x.contradicts(y) {
					wrong++
					fmt.Printf("%s %s of %s to %s: %v in %s, %v in %s\n", p.operation, p.promise, p.first, p.second,
						x, os.Args[1+i], y, os.Args[1+j])
				}
			}
		}
	}
	fmt.Printf("contradictions: %d of %d\n", wrong, both)
	if 1000*wrong > both {
		os.Exit(1)
	}
}

// pair is two contenders at an operation.
type pair struct{ operation, promise, first, second string }

// decided are the comparisons of a run that are not open, each both ways.
type decided map[pair]ratio

// ratio is how many times as long the first takes.
type ratio struct {
	lo, mid, hi float64
	different   bool
}

func (r ratio) String() string { return fmt.Sprintf("%.2f [%.2f-%.2f]", r.mid, r.lo, r.hi) }

// decidedIn returns the decided comparisons of a run, and how many there are with the open ones.
func decidedIn(run *result.Run) (some decided, all int) {
	some = decided{}
	for _, c := range run.Cells {
		if c.Ratio == nil || c.Ratio.To == c.Name() || !c.Ranked {
			continue
		}
		if all++; c.Ratio.Open() {
			continue
		}
		p := pair{c.Workload + "/" + c.Operation + "?" + c.Params, c.Promise.Label(), c.Name(), c.Ratio.To}
		r := ratio{c.Ratio.Lo, c.Ratio.Mid, c.Ratio.Hi, c.Ratio.Different}
		some[p] = r
		p.first, p.second = p.second, p.first
		some[p] = ratio{1 / r.hi, 1 / r.mid, 1 / r.lo, r.different}
	}
	return some, all
}

// contradicts reports whether two runs cannot both be right about a pair.
func (r ratio) contradicts(o ratio) bool {
	if r.different && o.different {
		return (r.mid > 1) != (o.mid > 1)
	}
	return r.different != o.different && (r.hi < o.lo || o.hi < r.lo)
}
