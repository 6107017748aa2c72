package bench

import (
	"context"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/workload"
)

// openGroup is a group of two live cells that sat once for 10 ms, with what its open comparisons
// need.
func openGroup(more ...float64) *group {
	g := &group{sittings: 1, length: 1, slices: 2, lasted: 10 * time.Millisecond, more: more}
	for range 2 {
		g.cells = append(g.cells, &cell{Cell: result.Cell{Status: result.OK}})
	}
	return g
}

func TestTimeGoesWhereTheMostIsDecided(t *testing.T) {
	decided, near, far, hopeless := openGroup(), openGroup(2), openGroup(20), openGroup(math.Inf(1))
	for _, c := range decided.cells {
		c.Early = result.EarlyDecided
	}
	r := &runner{Options: Options{Budget: 10 * time.Second}, started: time.Now()}
	for _, c := range []struct {
		groups []*group
		want   *group
		why    string
	}{
		{[]*group{hopeless, decided, far, near}, near, "of several what needs the least"},
		{[]*group{far, hopeless}, far, "far before what is hopeless"},
		{[]*group{decided, hopeless}, hopeless, "what is hopeless if nothing else is open"},
		{[]*group{decided}, nil, "nothing if nothing is open"},
	} {
		if r.groups = c.groups; r.next() != c.want {
			t.Errorf("want %s", c.why)
		}
	}
	rested := openGroup(math.Inf(1))
	hopeless.sittings = 2
	if r.groups = []*group{hopeless, rested}; r.next() != rested {
		t.Error("want of two that are hopeless the one that sat less")
	}
	many := openGroup(3, 3, 3, 1e6)
	if r.groups = []*group{near, many}; r.next() != many {
		t.Error("want three comparisons that need 3 sittings before one that needs 2")
	}
	near.lasted = time.Minute
	if r.groups = []*group{near, far}; r.next() != far {
		t.Error("want what the time that is left is enough for")
	}
	// Of these the second decides the most by the second, and nothing within the time that is left.
	r = &runner{Options: Options{Budget: 1500 * time.Millisecond}, started: time.Now()}
	slow, late := openGroup(8), openGroup(100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100)
	slow.lasted = 100 * time.Millisecond
	late.lasted = 100 * time.Millisecond
	if r.groups = []*group{late, slow}; r.next() != slow {
		t.Error("want what is decided within the time that is left")
	}
	if r.groups = []*group{late}; r.next() != late {
		t.Error("want what is left if nothing is decided in time")
	}
}

func TestALoadCostsAsMuchInAShorterSitting(t *testing.T) {
	g := openGroup(1)
	g.loading, g.lasted, g.length, g.slices = 4*time.Second, 10*time.Second, 12, 48
	if got := g.sitting(); got != 7*time.Second {
		t.Errorf("12 rounds of 2 cells, where 24 took 6 s and loading 4 s: %v, want 7 s", got)
	}
}

func TestPromisesShareNoRounds(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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

// Who is surely far behind leaves amid the first sitting, and its store is closed and told of like
// the others'.
func TestWhoLeavesAmidASittingIsClosed(t *testing.T) {
	t.Parallel()
	o := options(t, "a=bbolt:,b=bbolt:,c=bbolt:", "ycsb/C?records=200")
	o.Entries[2].Slow, o.Rounds = 99, aimRounds
	run, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range run.Cells {
		if c.Status != result.OK || c.Latency == nil || c.Size.Churned == nil {
			t.Errorf("%s %s %s: latency %v, size %+v", c.Engine, c.Status, c.Error, c.Latency, c.Size)
		}
	}
	if slow := run.Cells[2]; slow.Early == result.EarlyBehind && len(slow.Samples) > len(run.Cells[0].Samples) {
		t.Errorf("100 times as slow, it left and had %d rounds, the others %d", len(slow.Samples),
			len(run.Cells[0].Samples))
	}
}

// What is open after the first sitting is measured again, in another process.
func TestOpenComparisonsGetMoreProcesses(t *testing.T) {
	t.Parallel()
	o := options(t, "a=bbolt:,b=bbolt:,c=bbolt:", "ycsb/C?records=200")
	o.Entries[1].Slow, o.Entries[2].Slow = 0.03, 0.08 // neither equal nor much different
	o.Rounds, o.Precision = aimRounds+4, 1e-6
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

// What an operation costs depends on how old its store is: so a longer run has more sittings, not
// longer ones.
func TestEverySittingHasAsManyRounds(t *testing.T) {
	t.Parallel()
	o := options(t, "a=bbolt:,b=bbolt:", "ycsb/C?records=200")
	o.Rounds, o.Precision, o.Even = 2*aimRounds+1, 1e-6, true
	run, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	rounds := map[int]int{}
	for _, s := range run.Cells[0].Samples {
		rounds[s.Process]++
	}
	if len(rounds) < 3 {
		t.Fatalf("%d sittings, want two and one more round: %v", len(rounds), rounds)
	}
	for process, n := range rounds {
		if process < len(rounds)-1 && n != rounds[0] { // the last round of all cuts the last one short
			t.Errorf("sitting %d has %d rounds, the first %d", process, n, rounds[0])
		}
	}
}

// A sitting takes processes that were started while the one before it closed its stores.
func TestProcessesAreStartedAhead(t *testing.T) {
	t.Parallel()
	r := &runner{Options: options(t, "bbolt", "ycsb/C?records=200"), children: map[childKey]*child.Process{}}
	defer r.endSpares()
	defer r.endAll()
	r.ahead(2)
	ready := slices.Clone(r.spares)
	r.rest()
	r.ahead(2)
	if len(ready) != 2 || !slices.Equal(r.spares, ready) {
		t.Fatalf("%d processes are ready, and then %d; want 2", len(ready), len(r.spares))
	}
	taken := map[*child.Process]bool{}
	for _, name := range []string{"a", "b", "c", "a"} {
		p, err := r.child(childKey{entry: name})
		if err != nil {
			t.Fatal(err)
		}
		taken[p] = true
		var resp response
		if err := p.Call(t.Context(), "finish", request{Command: cmdFinish}, &resp, time.Minute); err != nil {
			t.Errorf("%s does not answer: %v", name, err)
		}
	}
	if len(taken) != 3 || !taken[ready[0]] || !taken[ready[1]] || len(r.spares) != 0 {
		t.Errorf("3 contenders have %d processes, %d are left over", len(taken), len(r.spares))
	}
}

// A reader of the result can tell where the time went.
func TestTheTimeOfARunIsAccountedFor(t *testing.T) {
	t.Parallel()
	o := options(t, "a=bbolt:,b=bbolt:", "ycsb/A?records=200")
	o.Classes = []kv.Durability{kv.Flushed}
	run, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s := run.Spent
	for name, d := range map[string]time.Duration{"load": s.Load, "warm": s.Warm, "between": s.Between, "close": s.Close} {
		if d <= 0 {
			t.Errorf("%s took %v", name, d)
		}
	}
	if all := run.Measured + s.Load + s.Warm + s.Between + s.Close + s.Count; all > run.Took {
		t.Errorf("the parts take %v, the run %v", all, run.Took)
	}
}
