package bench

import (
	"flag"
	"testing"
	"time"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

var planted = flag.Duration("planted", 0,
	"time for each of the three runs of TestAPlantedChangeIsFoundInAnotherRun; 0 leaves it out")

// Three contenders run twice as they are, and a third time with one that takes 15 % longer for
// every operation, a delay that is measured. It takes minutes of a quiet machine, so that it is run
// by name:
//
//	go test -v -run PlantedChange ./lab/bench -planted 60s
func TestAPlantedChangeIsFoundInAnotherRun(t *testing.T) {
	if *planted == 0 {
		t.Skip("takes minutes of a quiet machine: -planted 60s")
	}
	const delayed = "b"
	run := func(slow float64) *result.Run {
		o := options(t, "a=bbolt:,b=bbolt:,c=bbolt:", "ycsb/A,C,fillseq,readrandom")
		o.Budget, o.Precision, o.Even, o.Seed = *planted, 0.01, true, uint64(time.Now().UnixNano())
		o.Strongest, o.Rounds = true, 0
		o.Entries[1].Slow = slow
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	old := run(0)
	for _, slow := range []float64{0, 0.15} {
		told := map[string]int{}
		changes := stats.Changes(old, run(slow), "")
		for _, w := range stats.Wholes(changes) {
			t.Logf("%.0f %%: %s, %d operations: %.3f [%.3f-%.3f] %s", 100*slow, w.Name(), w.Operations, w.Times.Mid,
				w.Times.Lo, w.Times.Hi, w.Time)
			planted := w.Name() == delayed && slow > 0
			if planted != (w.Time == result.Slower) || w.Time == result.Faster {
				t.Errorf("%s at all operations is %s", w.Name(), w.Time)
			}
		}
		for _, c := range changes {
			told[c.Time]++
			want := result.Same
			if c.Name() == delayed && slow > 0 {
				want = result.Slower
			}
			t.Logf("%.0f %%: %s %s beside %s: %.3f [%.3f-%.3f] %s", 100*slow, c.Operation, c.Name(), c.Beside,
				c.Times.Mid, c.Times.Lo, c.Times.Hi, c.Time)
			if c.Time != want && c.Time != result.Undecided {
				t.Errorf("%s %s is %s, want %s", c.Operation, c.Name(), c.Time, want)
			}
		}
		t.Logf("%.0f %% in %s: %v", 100*slow, delayed, told)
	}
}
