package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
)

// nullRunner returns a runner of an operation of ycsb on the engine that does nothing.
func nullRunner(tb testing.TB, operation string) workload.Runner {
	tb.Helper()
	w, ok := workload.Lookup("ycsb")
	if !ok {
		tb.Fatal("no workload ycsb")
	}
	op, ok := w.Op(operation)
	if !ok {
		tb.Fatalf("no operation %s", operation)
	}
	r, err := op.New(workload.Env{Dir: tb.TempDir(), Engine: "null", Form: "kv", Seed: 1,
		Params: map[string]string{"records": "1000"}})
	if err != nil {
		tb.Fatal(err)
	}
	if err := r.Setup(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}

// BenchmarkOverheadNull is what the harness itself adds to every operation, in ns: with an engine
// that does nothing, an operation in a slice (ns/op), the same one in a bare loop (bare-ns), and
// one reading of the clock (clock-ns), all measured in turns. The harness costs their difference
// (harness-ns); what of that is not the reading of the clock is over-clock-ns. Each is the fastest
// of many slices: the rest is the machine's.
func BenchmarkOverheadNull(b *testing.B) {
	const slice = 1 << 12
	ctx, r := b.Context(), nullRunner(b, "readrandom")
	s := newSlicer(r, 1)
	fastest := map[string]float64{}
	timed := func(name string, fn func()) {
		start := clock()
		fn()
		if ns := float64(clock()-start) / slice; fastest[name] == 0 || ns < fastest[name] {
			fastest[name] = ns
		}
	}
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	s.took = make([]int64, slice)
	var allocs float64
	done := 0
	for b.Loop() {
		if done++; done%slice != 1 {
			continue // an iteration is one operation of a slice
		}
		check(r.Prepare(slice))
		timed("harness", func() {
			_, err := s.single(ctx, 0, slice)
			check(err)
		})
		check(r.Prepare(slice))
		timed("bare", func() {
			for i := range slice {
				check(r.Do(ctx, 0, i))
			}
		})
		timed("clock", func() {
			for range slice {
				clock()
			}
		})
		check(s.prepare(slice))
		_, err := s.do(ctx, sliceSpec{N: slice})
		check(err)
		allocs = float64(s.meter.used.allocs) / slice
	}
	harness := fastest["harness"] - fastest["bare"]
	b.ReportMetric(fastest["harness"], "ns/op")
	b.ReportMetric(fastest["bare"], "bare-ns")
	b.ReportMetric(fastest["clock"], "clock-ns")
	b.ReportMetric(harness, "harness-ns")
	b.ReportMetric(harness-fastest["clock"], "over-clock-ns")
	b.ReportMetric(float64(int(allocs)), "allocs/op")
}

func TestHarnessAddsNoAllocations(t *testing.T) {
	if why := unranked(t); why != "" {
		t.Skipf("this binary was %s, which allocates too", why)
	}
	r := nullRunner(t, "readrandom")
	s := newSlicer(r, 1)
	const n = 1000
	if err := r.Prepare(n); err != nil {
		t.Fatal(err)
	}
	s.took = make([]int64, n)
	ctx := context.Background()
	if allocs := testing.AllocsPerRun(10, func() {
		if _, err := s.single(ctx, 0, n); err != nil {
			t.Fatal(err)
		}
	}); allocs > n/32+1 { // kv makes the memory of 32 views at once
		t.Errorf("%v allocations in %d operations, want none but kv's own", allocs, n)
	}
}

// stalling is a runner whose first iteration takes long.
type stalling struct {
	workload.Runner // nil: nothing else is called
	stall           time.Duration
	calls           atomic.Int64
}

func (s *stalling) Prepare(int) error            { return nil }
func (s *stalling) Verify(context.Context) error { return nil }
func (s *stalling) Do(_ context.Context, _, i int) error {
	s.calls.Add(1)
	if i == 0 {
		time.Sleep(s.stall)
	}
	return nil
}

func TestOpenLoopCountsLatencyFromTheIntendedStart(t *testing.T) {
	// 100 operations are due within 10 ms, and the first one takes 50: all others end at least 40
	// ms late.
	r := &stalling{stall: 50 * time.Millisecond}
	s := newSlicer(r, 1)
	if _, _, err := s.run(t.Context(), sliceSpec{N: 100, Rate: 10_000}); err != nil {
		t.Fatal(err)
	}
	if p50 := time.Duration(latencyOf(s.total).P50); p50 < 39*time.Millisecond {
		t.Errorf("median latency %v: the wait behind the slow operation was left out", p50)
	}
	closed := newSlicer(&stalling{stall: 50 * time.Millisecond}, 1)
	if _, _, err := closed.run(t.Context(), sliceSpec{N: 100}); err != nil {
		t.Fatal(err)
	}
	if latencyOf(closed.total).P50 >= latencyOf(s.total).P50 {
		t.Error("a closed loop has the latencies of an open one")
	}
}

func TestEachIterationRunsOnceWhateverTheWorkers(t *testing.T) {
	for _, workers := range []int{1, 3, 14} {
		r := &stalling{}
		s := newSlicer(r, workers)
		if _, _, err := s.run(t.Context(), sliceSpec{N: 1000}); err != nil {
			t.Fatal(err)
		}
		if got := r.calls.Load(); got != 1000 {
			t.Errorf("%d workers made %d calls, want 1000", workers, got)
		}
		if got := s.total.TotalCount(); got != 1000 {
			t.Errorf("%d workers recorded %d latencies, want 1000", workers, got)
		}
	}
}

// lavish is a runner whose Prepare, Reset and Verify allocate much more than its operation. All
// allocations are large: the runtime counts those at once.
type lavish struct {
	workload.Runner // nil: nothing else is called
	n               int
	kept            []byte
}

const (
	lavishSize  = 64 << 10
	lavishExtra = 50 // allocations of each of the others, for one of the operation
)

func (l *lavish) allocate(times int) {
	for range times {
		l.kept = make([]byte, lavishSize)
	}
}

func (l *lavish) Prepare(n int) error { l.n = n; l.allocate(n * lavishExtra); return nil }

func (l *lavish) Do(context.Context, int, int) error { l.allocate(1); return nil }

func (l *lavish) Verify(context.Context) error { l.allocate(l.n * lavishExtra); return nil }

// lavishReset is a lavish whose iterations need something put in place.
type lavishReset struct{ lavish }

func (l *lavishReset) Reset(context.Context, int, int) error { l.allocate(lavishExtra); return nil }

func TestAllocationsAreThoseOfTheOperationAlone(t *testing.T) {
	const n = 100
	for name, r := range map[string]workload.Runner{"prepared": &lavish{}, "reset": &lavishReset{}} {
		t.Run(name, func(t *testing.T) {
			s := state{runner: r, slicer: newSlicer(r, 1)}
			report, err := s.slice(t.Context(), sliceSpec{N: n})
			if err != nil {
				t.Fatal(err)
			}
			// The rest of this process may allocate a little too, but not half of what the others
			// do.
			if report.Allocs < n || report.Allocs > n*lavishExtra/2 {
				t.Errorf("%v allocations in %d operations of one", report.Allocs, n)
			}
			if least := float64(n * lavishSize); report.AllocBytes < least || report.AllocBytes > 2*least {
				t.Errorf("%v bytes allocated in %d operations of %d", report.AllocBytes, n, lavishSize)
			}
		})
	}
}

// settlingRunner allocates in the operations of a slice that only settle, and counts all of them.
type settlingRunner struct {
	lavish
	settle, calls int
}

func (r *settlingRunner) Prepare(int) error            { return nil }
func (r *settlingRunner) Verify(context.Context) error { return nil }
func (r *settlingRunner) Do(_ context.Context, _, i int) error {
	if r.calls++; i < r.settle {
		r.allocate(1)
	}
	return nil
}

type settlingReset struct{ settlingRunner }

func (r *settlingReset) Reset(context.Context, int, int) error { return nil }

type settlingRestore struct{ settlingRunner }

func (r *settlingRestore) Every() int                    { return 7 }
func (r *settlingRestore) Restore(context.Context) error { return nil }

func TestWhatSettlesIsDoneAndNotCounted(t *testing.T) {
	const settle, n = 20, 100
	one := settlingRunner{settle: settle}
	reset, restore := settlingReset{one}, settlingRestore{one}
	for name, c := range map[string]struct {
		runner workload.Runner
		calls  *int
	}{"alone": {&one, &one.calls}, "reset": {&reset, &reset.calls}, "restored": {&restore, &restore.calls}} {
		s := newSlicer(c.runner, 1)
		wall, perOp, err := s.run(t.Context(), sliceSpec{N: n, Settle: settle})
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, ns := range s.took[settle:] {
			sum += ns
		}
		if *c.calls != settle+n || s.total.TotalCount() != n || time.Duration(sum) != wall || perOp != float64(sum)/n {
			t.Errorf("%s: %d operations, %d latencies, %v in all, %v ns each, want %d, %d, %v", name, *c.calls,
				s.total.TotalCount(), wall, perOp, settle+n, n, time.Duration(sum))
		}
		if got := s.meter.used.allocBytes; got >= settle*lavishSize {
			t.Errorf("%s: %d bytes allocated, those of settling among them", name, got)
		}
	}
	r := &stalling{}
	s := newSlicer(r, 3)
	if _, _, err := s.run(t.Context(), sliceSpec{N: n, Settle: settle}); err != nil || r.calls.Load() != settle+n ||
		s.total.TotalCount() != n {
		t.Errorf("3 workers: %d operations, %d latencies, %v", r.calls.Load(), s.total.TotalCount(), err)
	}
}

func TestAPercentileNeedsTenOperationsBeyondIt(t *testing.T) {
	for _, c := range []struct {
		n    int
		told [4]bool // p50, p90, p99, p999
	}{
		{1, [4]bool{}}, {19, [4]bool{}}, {20, [4]bool{true}}, {99, [4]bool{true}}, {100, [4]bool{true, true}},
		{999, [4]bool{true, true}}, {1000, [4]bool{true, true, true}}, {9999, [4]bool{true, true, true}},
		{10_000, [4]bool{true, true, true, true}},
	} {
		s := newSlicer(nil, 1)
		for range c.n {
			record(s.total, 1000)
		}
		l := latencyOf(s.total)
		if got := [4]bool{l.P50 > 0, l.P90 > 0, l.P99 > 0, l.P999 > 0}; got != c.told || l.Max == 0 {
			t.Errorf("%d operations: told %v and a maximum of %d, want %v and some", c.n, got, l.Max, c.told)
		}
	}
}

// ageing is a runner whose store has so many operations behind it.
type ageing struct {
	workload.Runner // nil: nothing else is called
	age, most, made int
}

func (a *ageing) Prepare(int) error            { return nil }
func (a *ageing) Verify(context.Context) error { return nil }
func (a *ageing) Every() int                   { return 10 }

func (a *ageing) Do(context.Context, int, int) error {
	a.age++
	a.most = max(a.most, a.age)
	return nil
}

func (a *ageing) Restore(context.Context) error {
	a.age = 0
	a.made++
	return nil
}

// However long it is measured, no store is older than the runner wants.
func TestAStoreIsMadeAgainBeforeItIsTooOld(t *testing.T) {
	a := &ageing{}
	s := newSlicer(a, 1)
	for _, n := range []int{3, 25, 1, 71} {
		wall, _, err := s.run(t.Context(), sliceSpec{N: n})
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, ns := range s.took {
			sum += ns
		}
		if len(s.took) != n || time.Duration(sum) != wall {
			t.Errorf("%d operations: %d times of %d ns in all, want those of %v", n, len(s.took), sum, wall)
		}
	}
	if a.most != 10 || a.made != 9 || a.age != 10 {
		t.Errorf("100 operations: the store was up to %d old, and made %d times; want 10, 9", a.most, a.made)
	}
	if err := s.prepare(30); err != nil {
		t.Fatal(err)
	}
	if _, err := s.do(t.Context(), sliceSpec{N: 30, keep: true}); err != nil || a.made != 9 {
		t.Errorf("while it is counted: made %d times, %v", a.made, err)
	}
}

// comparing is a runner whose Verify says as much after several slices as after each.
type comparing struct {
	workload.Runner // nil: nothing else is called
	done, checked   int
	lost            bool
}

func (w *comparing) Whole() bool       { return true }
func (w *comparing) Prepare(int) error { return nil }
func (w *comparing) Do(context.Context, int, int) error {
	w.done++
	return nil
}

func (w *comparing) Verify(context.Context) error {
	if w.lost {
		return errors.New("a key is lost")
	}
	w.checked++
	return nil
}

func (w *comparing) Size() (kv.Size, error) { return kv.Size{}, nil }
func (w *comparing) Close() error           { return nil }

// What opens the store to check it does so seldom, and at the end: nothing goes unchecked.
func TestACheckThatTakesLongIsPutOff(t *testing.T) {
	w := &comparing{}
	s := state{spec: &cellSpec{Dir: t.TempDir()}, runner: w, slicer: newSlicer(w, 1)}
	for range 10 {
		if _, err := s.slice(t.Context(), sliceSpec{N: 1}); err != nil {
			t.Fatal(err)
		}
		s.slicer.checked = time.Hour
	}
	if w.checked != 1 {
		t.Errorf("checked %d times in %d slices, want the first alone", w.checked, w.done)
	}
	w.lost = true
	if _, err := s.finish(t.Context(), false); err == nil {
		t.Error("what was lost before the end was not found")
	}
}
