package bench

import (
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/workload"
)

// openGroup is a group of two live cells that sat once, and needs more rounds.
func openGroup(more float64) *group {
	g := &group{round: 10, sat: 2, idle: 100 * time.Millisecond, rounds: 10 * time.Millisecond, more: more}
	for range 2 {
		g.cells = append(g.cells, &cell{Cell: result.Cell{Status: result.OK}})
	}
	return g
}

func TestTimeGoesWhereTheQuestionIsOpen(t *testing.T) {
	decided, near, far, hopeless := openGroup(0), openGroup(2), openGroup(20), openGroup(math.Inf(1))
	for _, c := range decided.cells {
		c.Early = result.EarlyDecided
	}
	hopeless.more = 1e9
	r := &runner{Options: Options{Budget: 10 * time.Second}, started: time.Now(), groups: []*group{hopeless, decided, far, near}}
	got := map[*group]time.Duration{}
	var all time.Duration
	for _, p := range r.plan(1) {
		got[p.group], all = p.time, all+p.time
	}
	if got[decided] != 0 {
		t.Errorf("what is decided sits %v", got[decided])
	}
	if want, _ := near.needed(); got[near] != want {
		t.Errorf("what needs little gets %v, want the %v that it needs", got[near], want)
	}
	if got[far] < got[near] || got[hopeless] < hopeless.leastTime() || got[hopeless] > got[far] {
		t.Errorf("near %v, far %v, hopeless %v: want the least for what is hopeless, the rest for what is far", got[near], got[far], got[hopeless])
	}
	if left := time.Until(r.deadline()); all > left {
		t.Errorf("%v are planned, %v are left", all, left)
	}
	var last time.Duration
	for _, p := range r.plan(fullSittings - 1) {
		last += p.time
	}
	if last < all {
		t.Errorf("the last full sitting plans %v, the one before %v: something is left over", last, all)
	}
}

func TestPromisesShareNoRounds(t *testing.T) {
	o := options(t, "a=bbolt:,b=bbolt:", "ycsb/A?records=200")
	run, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	class := map[int]string{}
	for _, c := range run.Cells {
		for _, s := range c.Samples {
			if was := class[s.Round]; was != "" && was != c.Promise.Delivered {
				t.Fatalf("round %d is of %s and of %s", s.Round, was, c.Promise.Delivered)
			}
			class[s.Round] = c.Promise.Delivered
		}
	}
	if len(class) == 0 || run.Measured <= 0 || run.Measured > run.Took {
		t.Errorf("%d rounds, %v of %v measured", len(class), run.Measured, run.Took)
	}
}

func TestOnlyTheStrongestPromiseIsMeasured(t *testing.T) {
	o := options(t, "bbolt", "ycsb/A?records=200")
	o.Strongest = true
	run, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := kv.Synced.String()
	if run.Environment.Tmpfs {
		want = kv.Flushed.String()
	}
	for _, c := range run.Cells {
		if c.Promise.Delivered != want {
			t.Errorf("a cell at %s, want %s alone", c.Promise.Delivered, want)
		}
	}
}

func TestNobodyWaitsForTheFloor(t *testing.T) {
	g := &group{r: &runner{Options: Options{Precision: 0.05}}}
	add := func(name string, ranked bool, ns float64) *cell {
		c := &cell{Cell: result.Cell{Operation: "put", Engine: name, Ranked: ranked, Status: result.OK}}
		for round := range 12 {
			c.record(round, round/6, &sliceReport{N: 10, NS: ns + float64(round%3)})
		}
		g.cells = append(g.cells, c)
		return c
	}
	null := add("null", false, 10)
	add("bbolt", true, 1000)
	slow := add("sqlite", true, 9000)
	if g.look(); slow.Early != result.EarlyBehind || null.Early == "" {
		t.Errorf("9 times as slow: %q; the floor then: %q, want both to leave", slow.Early, null.Early)
	}
	near := add("pebble", true, 1080)
	for i := range near.Samples {
		near.Samples[i].NS += float64(i%5-2) * 100
	}
	if g.look(); near.Early != "" || null.Early == "" {
		t.Errorf("8 %% slower with much noise: %q, want open; the floor left and is %q", near.Early, null.Early)
	}
}

// What is open after the first sitting is measured again, in another process.
func TestOpenComparisonsGetMoreProcesses(t *testing.T) {
	o := options(t, "a=bbolt:,b=bbolt:,c=bbolt:", "ycsb/C?records=200")
	o.Entries[1].Slow, o.Entries[2].Slow = 0.03, 0.08 // neither equal nor much different
	o.Budget, o.Precision = 12*time.Second, 1e-6
	run, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, c := range run.Cells {
		for _, s := range c.Samples {
			most = max(most, s.Process)
		}
	}
	if most == 0 && !decided(run) {
		t.Errorf("comparisons are open after one process: %+v", run.Cells)
	}
}

func decided(run *result.Run) bool {
	for _, c := range run.Cells {
		if c.Ratio != nil && c.Ratio.To != c.Name() && c.Ratio.Open() {
			return false
		}
	}
	return true
}

// spinning is a runner whose iterations take some time, which it sums up.
type spinning struct {
	workload.Runner // nil: nothing else is called
	took            int64
}

func (s *spinning) Do(context.Context, int, int) error {
	start := clock()
	for clock() < start+20_000 {
		continue
	}
	s.took += clock() - start
	return nil
}

func TestAPlantedDelayIsAShareOfTheOperation(t *testing.T) {
	inner := &spinning{}
	s := newSlicer(inner, 1)
	s.slow(0.25)
	start := clock()
	for i := range 500 {
		if err := s.runner.Do(t.Context(), 0, i); err != nil {
			t.Fatal(err)
		}
		if owed := s.runner.(*slowed).debts[0].ns; owed > 0 {
			t.Fatalf("after operation %d, %v ns are still to be waited", i, owed)
		}
	}
	if all := clock() - start; float64(all) < 1.25*float64(inner.took) {
		t.Errorf("the operations took %d ns, with the delays %d, want at least 1.25 times as long", inner.took, all)
	}
}

func TestTheMachineIsWatched(t *testing.T) {
	steady, slower := []float64{10, 11, 10, 10, 11, 10, 10, 10, 11}, []float64{10, 11, 10, 10, 11, 10, 15, 15, 16}
	if d := drift(steady); d == nil || *d != 0 {
		t.Errorf("no drift in %v: %v", steady, d)
	}
	if d := drift(slower); d == nil || math.Abs(*d-0.5) > 1e-9 {
		t.Errorf("the last third of %v takes half as long again: %v", slower, d)
	}
	if d := drift(slower[:5]); d != nil {
		t.Errorf("five values tell a drift of %v", *d)
	}
	m := newMachine()
	m.look()
	got := m.report(nil)
	if runtime.GOOS != "linux" {
		return
	}
	if got.LoadBefore == nil || got.LoadMost == nil || *got.LoadMost < *got.LoadBefore {
		t.Errorf("load %v, at most %v", got.LoadBefore, got.LoadMost)
	}
	for name, share := range map[string]*float64{"others": got.Others, "steal": got.Steal} {
		if share != nil && (*share < 0 || *share > 1) {
			t.Errorf("%s took %v of the processors", name, *share)
		}
	}
}
