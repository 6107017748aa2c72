package bench

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
	"github.com/assaydb/assay/lab/workload"
)

// waking is a runner whose first iteration of all takes long.
type waking struct {
	workload.Runner // nil: nothing else is called
	awake           bool
}

func (w *waking) Prepare(int) error            { return nil }
func (w *waking) Verify(context.Context) error { return nil }
func (w *waking) Do(context.Context, int, int) error {
	if !w.awake {
		w.awake = true
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

func TestTheFirstOperationIsNotTheEstimate(t *testing.T) {
	r := &waking{}
	s := state{runner: r, slicer: newSlicer(r, 1)}
	got, err := s.calibrate(t.Context(), 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if got.N < fewOps {
		t.Errorf("%d operations a slice, by the first one, which took a thousand times as long as the others", got.N)
	}
}

// steady is a runner whose operations take equally long.
type steady struct {
	waking
	takes time.Duration
	done  int
}

func (s *steady) Do(context.Context, int, int) error {
	s.done++
	time.Sleep(s.takes)
	return nil
}

// A log that is full once in a thousand commits is what later commits meet.
func TestAProcessWarmsUpUntilItHasDoneSoMany(t *testing.T) {
	for _, c := range []struct {
		why         string
		takes       time.Duration
		op          workload.Op
		least, full int // the log is full after so many
		from, until int
	}{
		{"time alone", time.Millisecond, workload.Op{}, 0, 200, 15, 40},
		{"it has done so many by then", time.Millisecond, workload.Op{}, 10, 200, 15, 45},
		{"they fit into some more", time.Millisecond, workload.Op{}, 100, 200, 100, 120},
		{"the log is full before that", time.Millisecond, workload.Op{}, 200, 100, 100, 130},
		{"the log is full at once", time.Millisecond, workload.Op{}, 100, 1, 15, 40},
		{"no log", time.Millisecond, workload.Op{}, 100, 0, 15, 40},
		{"one in four commits", time.Millisecond, workload.Op{Cycle: 4}, 25, 200, 100, 120},
		{"a turn of four workers", time.Millisecond, workload.Op{Cycle: 4, Workers: 4}, 25, 200, 100, 120},
		{"they would take too long", 10 * time.Millisecond, workload.Op{}, 100, 200, 2, 10},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &steady{takes: c.takes}
			s := state{spec: &cellSpec{}, op: c.op, runner: r, slicer: newSlicer(r, 1)}
			if c.full > 0 {
				s.logged = func() int64 { return int64(min(r.done, c.full)) }
			}
			if err := s.warm(t.Context(), 40*time.Millisecond, c.least); err != nil {
				t.Fatal(err)
			}
			if r.done < c.from || r.done > c.until {
				t.Errorf("%s: %d operations, want %d to %d", c.why, r.done, c.from, c.until)
			}
		})
	}
}

// weaker is a steady runner whose commits wait for the disk, unless another class is set.
type weaker struct {
	steady
	class kv.Durability
	by    map[kv.Durability]int // operations of each class
}

func (w *weaker) Commit(d kv.Durability) (before kv.Durability) {
	before, w.class = w.class, d
	return before
}

func (w *weaker) Do(ctx context.Context, worker, i int) error {
	w.by[w.class]++
	if w.class != kv.Synced {
		w.done++
		return nil
	}
	return w.steady.Do(ctx, worker, i)
}

// What fills a log need not be synced; what is measured is.
func TestALogIsFilledByCommitsThatDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &weaker{steady: steady{takes: time.Millisecond}, class: kv.Synced, by: map[kv.Durability]int{}}
		s := state{spec: &cellSpec{Durability: kv.Synced}, runner: r, slicer: newSlicer(r, 1)}
		s.logged = func() int64 { return int64(min(r.done, 500)) }
		if err := s.warm(t.Context(), 40*time.Millisecond, 1000); err != nil {
			t.Fatal(err)
		}
		if n := r.by[kv.Flushed]; n < 500 || n > 650 {
			t.Errorf("%d commits that do not wait filled a log of 500", n)
		}
		if n := r.by[kv.Synced]; r.class != kv.Synced || n < 15 || n > 100 {
			t.Errorf("%d commits that do, in a warm-up that has time for 40; the next is %v", n, r.class)
		}
	})
}

// remade is a steady runner whose store is made again, and so has a new log.
type remade struct {
	steady
	every int
}

func (r *remade) Every() int                    { return r.every }
func (r *remade) Restore(context.Context) error { return nil }

func (r *remade) Reset(context.Context, int, int) error { return nil }

// Where every operation meets a new log, none of them fills it for those that follow.
func TestWhatOpensItsStoreWarmsUpForATimeAlone(t *testing.T) {
	const least = 100
	for _, c := range []struct {
		why   string
		every int // makes it a Restorer in use
		reset bool
	}{
		{"its store is made again", 10, false},
		{"something is put in place before each operation", 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &remade{steady: steady{takes: time.Millisecond}, every: c.every}
			s := state{runner: r, slicer: newSlicer(r, 1), logged: func() int64 { return int64(r.done) }}
			if !c.reset {
				s.slicer.reset = nil
			}
			if err := s.warm(t.Context(), 40*time.Millisecond, least); err != nil {
				t.Fatal(err)
			}
			if r.done >= least {
				t.Errorf("%s: %d operations in a warm-up that has time for 40", c.why, r.done)
			}
		})
	}
}

func TestASliceSettlesForAFewMilliseconds(t *testing.T) {
	const ms = float64(time.Millisecond)
	for _, c := range []struct {
		why         string
		perOp       float64
		cycle, want int
		cell        cell
	}{
		{"many fit", ms / 10, 1, 30, cell{}},
		{"a mix settles in whole cycles", ms / 10, 20, 20, cell{}},
		{"a cycle takes longer", ms / 4, 20, 0, cell{}},
		{"an operation takes longer", 4 * ms, 1, 0, cell{}},
		{"only the first that waits for the disk does", ms / 5, 1, 1, cell{}},
		{"of a mix a cycle does", ms / 5, 2, 2, cell{}},
		{"its process runs before each operation anyway", ms / 10, 1, 0, cell{resets: true}},
		{"a schedule says when an operation starts", ms / 10, 1, 0, cell{Cell: result.Cell{Rate: 100}}},
		{"an operation that takes nothing", 0, 1, maxOps / 2, cell{}},
	} {
		c.cell.op.Cycle = c.cycle
		if got := c.cell.settle(c.perOp); got != c.want {
			t.Errorf("%s: %d operations of %v ns in cycles of %d settle, want %d", c.why, got, c.perOp, c.cycle, c.want)
		}
	}
}

func TestASliceHoldsEnoughOperations(t *testing.T) {
	const ms = float64(time.Millisecond)
	for _, c := range []struct {
		why         string
		perOp       float64
		cycle, want int
	}{
		{"its share holds many", ms / 10, 1, 100},
		{"its share holds few", 2 * ms, 1, 5},
		{"two take less than two shares", 8 * ms, 1, 2},
		{"two take longer than two shares", 12 * ms, 1, 1},
		{"one takes longer than two shares", 100 * ms, 1, 1},
		{"a mix is whole cycles, rounded up", ms / 3, 20, 40},
		{"a mix is a cycle, however long it takes", 20 * ms, 20, 20},
		{"no slice is longer than the longest", 0, 1, 1 << 20},
		{"nor is that of a mix", 0, 20, 1 << 20 / 20 * 20},
	} {
		if got := fit(10*time.Millisecond, c.perOp, c.cycle); got != c.want {
			t.Errorf("%s: %d operations of %v ns in cycles of %d, want %d", c.why, got, c.perOp, c.cycle, c.want)
		}
	}
}

func TestSlicesAreFittedAgainAfterAColdStart(t *testing.T) {
	t.Parallel()
	// The first three reads are slow: two are the warm-up's, one is the first round's.
	o := options(t, "w=waking:", "ycsb/readrandom?records=100")
	o.Rounds = refitRounds + 2*stats.MinRounds // those of the cold start are forgotten
	run, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c := run.Cells[0]
	if c.Status != result.OK || len(c.Samples) < stats.MinRounds {
		t.Fatalf("%s %s: %d samples, want at least %d", c.Status, c.Error, len(c.Samples), stats.MinRounds)
	}
	var n int64
	for _, s := range c.Samples {
		n += s.N
		if s.N < fewOps {
			t.Errorf("round %d is a sample of %d operations", s.Round, s.N)
		}
	}
	if n != c.N {
		t.Errorf("the samples hold %d operations, the cell %d", n, c.N)
	}
}

func TestASliceThatIsForgottenLeavesNoLatencies(t *testing.T) {
	r := &waking{}
	s := state{runner: r, slicer: newSlicer(r, 1)}
	for _, spec := range []sliceSpec{{N: 1}, {N: 10, Forget: true}, {N: 5}} {
		if _, err := s.slice(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.slicer.total.TotalCount(); got != 15 {
		t.Errorf("%d latencies, want those of the last two slices, 15", got)
	}
}

func TestOneSlowSliceMakesTheNextNoShorter(t *testing.T) {
	c := &cell{n: 100, target: 10 * time.Millisecond}
	c.forget()
	slice := func(n int, ns float64) {
		s := &sliceReport{N: n, NS: ns, Wall: time.Duration(float64(n) * ns)}
		c.record(1, 0, s)
		c.refit(s)
	}
	slice(100, 1e5)
	slice(100, 2.5e5)
	if c.n != 100 {
		t.Errorf("%d operations after one slow slice, want 100", c.n)
	}
	slice(100, 1e6)
	if c.n >= 100 {
		t.Errorf("%d operations after two slow slices, want fewer", c.n)
	}
}
