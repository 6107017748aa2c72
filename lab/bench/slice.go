package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/workload"
)

// Latencies from 1 ns to 10 minutes with 2 significant digits: 1 % is finer than any two runs
// agree.
const (
	minLatency = 1
	maxLatency = int64(10 * time.Minute)
	digits     = 2
)

// epoch makes clock read the monotonic clock only: time.Since of a monotonic time is half the price
// of time.Now.
var epoch = time.Now()

func clock() int64 { return int64(time.Since(epoch)) }

// slicer runs the slices of one runner and gathers their latencies.
type slicer struct {
	runner  workload.Runner
	reset   workload.Resetter // nil if iterations need nothing put in place
	restore workload.Restorer // nil if the store need not be made again
	age     int               // iterations since it was made
	whole   bool              // Verify may be put off
	checked time.Duration     // that Verify took
	owing   time.Duration     // of slices since Verify
	workers int
	// of each iteration of the slice, in ns: cheaper to keep than to count while it runs
	took  []int64
	total *hdrhistogram.Histogram // of all slices since the last forget
	meter meter                   // of the slice: what its operations used, without Prepare, Reset and Verify
}

func newSlicer(r workload.Runner, workers int) *slicer {
	s := &slicer{runner: r, workers: max(workers, 1), total: hdrhistogram.New(minLatency, maxLatency, digits),
		meter: newMeter()}
	s.reset, _ = r.(workload.Resetter)
	if again, ok := r.(workload.Restorer); ok && again.Every() > 0 {
		s.restore = again
	}
	if w, ok := r.(workload.Whole); ok {
		s.whole = w.Whole()
	}
	return s
}

// slow makes every operation take so much longer, 0.1 by 10 %.
func (s *slicer) slow(by float64) {
	if by > 0 {
		s.runner = &slowed{Runner: s.runner, by: by, debts: make([]debt, s.workers)}
	}
}

// slowed delays a runner by a share of what it takes, so that there is a difference to be found.
// The delay is measured: what one was too long, as a reading of the clock makes it, the next ones
// are shorter.
type slowed struct {
	workload.Runner
	by    float64
	debts []debt // by worker
}

// debt is how long a worker still has to wait, in ns.
type debt struct {
	ns float64
	_  [56]byte // a line of the cache for each worker
}

func (s *slowed) Do(ctx context.Context, worker, i int) error {
	start := clock()
	if err := s.Runner.Do(ctx, worker, i); err != nil {
		return err
	}
	end := clock()
	d := &s.debts[worker]
	d.ns += s.by * float64(end-start)
	for until := end + int64(math.Ceil(d.ns)); d.ns > 0; {
		if now := clock(); now >= until {
			d.ns -= float64(now - end)
			break
		}
	}
	return nil
}

// forget drops the latencies so far: they were of the warm-up.
func (s *slicer) forget() { s.total.Reset() }

// run does the iterations of a slice and returns how long they took in all and, per operation, how
// long one took: the share of the whole time, or in open-loop mode the mean from the intended start
// to the end.
func (s *slicer) run(ctx context.Context, spec sliceSpec) (wall time.Duration, perOp float64, err error) {
	if err := s.prepare(spec.Settle + spec.N); err != nil {
		return 0, 0, err
	}
	if wall, err = s.do(ctx, spec); err != nil {
		return 0, 0, err
	}
	if s.owing += wall; !s.whole || s.owing > checkEvery*s.checked {
		if err := s.verify(ctx); err != nil {
			return 0, 0, err
		}
	}
	var sum float64
	for _, ns := range s.took[spec.Settle:] {
		sum += float64(ns)
		record(s.total, ns)
	}
	if spec.Rate > 0 {
		return wall, sum / float64(spec.N), nil
	}
	return wall, float64(wall) / float64(spec.N), nil
}

// checkEvery is how many times as long as Verify the slices are, at least, after which a runner is
// verified for which once says as much: where it opens the store, it costs as much as an operation.
const checkEvery = 10

// verify checks what the slices since the last time left to check.
func (s *slicer) verify(ctx context.Context) error {
	start := clock()
	if err := s.runner.Verify(ctx); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	s.checked, s.owing = time.Duration(clock()-start), 0
	return nil
}

func (s *slicer) prepare(n int) error {
	if err := s.runner.Prepare(n); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	return nil
}

// do does the iterations that were prepared, and keeps how long each took and what they used. Those
// that settle are neither timed nor metered.
func (s *slicer) do(ctx context.Context, spec sliceSpec) (wall time.Duration, err error) {
	all := spec.Settle + spec.N
	s.took = slices.Grow(s.took[:0], all)[:all]
	s.meter.reset()
	if spec.Settle > 0 {
		if _, err := s.part(ctx, spec, 0, spec.Settle); err != nil {
			return 0, err
		}
		s.meter.reset()
	}
	return s.part(ctx, spec, spec.Settle, all)
}

// part does the iterations [first, end).
func (s *slicer) part(ctx context.Context, spec sliceSpec, first, end int) (wall time.Duration, err error) {
	switch {
	case s.reset != nil:
		return s.resetting(ctx, spec.Rate, first, end)
	case s.restore != nil && spec.Rate == 0 && !spec.keep:
		return s.restoring(ctx, first, end)
	case spec.Rate > 0:
		return s.metered(func() (time.Duration, error) { return s.open(ctx, spec) })
	case s.workers > 1:
		return s.metered(func() (time.Duration, error) { return s.parallel(ctx, first, end) })
	}
	return s.metered(func() (time.Duration, error) { return s.single(ctx, first, end) })
}

// metered counts what fn uses.
func (s *slicer) metered(fn func() (time.Duration, error)) (time.Duration, error) {
	s.meter.start()
	defer s.meter.stop()
	return fn()
}

// restoring is the closed loop of a runner whose store is made again now and then, untimed and
// unmetered. It is so old as it was when the last slice ended.
func (s *slicer) restoring(ctx context.Context, first, end int) (wall time.Duration, err error) {
	for first < end {
		if s.age >= s.restore.Every() {
			if err := s.restore.Restore(ctx); err != nil {
				return 0, fmt.Errorf("restore: %w", err)
			}
			s.age = 0
		}
		until := min(end, first+s.restore.Every()-s.age)
		took, err := s.metered(func() (time.Duration, error) { return s.single(ctx, first, until) })
		if err != nil {
			return 0, err
		}
		wall, s.age, first = wall+took, s.age+until-first, until
	}
	return wall, nil
}

// single is the closed loop of one worker. The end of an iteration is the start of the next, so
// that an operation costs one reading of the clock. It does the iterations [first, end).
func (s *slicer) single(ctx context.Context, first, end int) (time.Duration, error) {
	took, r := s.took[:end], s.runner
	start := clock()
	last := start
	for i := first; i < len(took); i++ {
		if err := r.Do(ctx, 0, i); err != nil {
			return 0, err
		}
		now := clock()
		took[i] = now - last
		last = now
	}
	return time.Duration(last - start), nil
}

// resetting is the closed loop of a runner whose iterations each need something put in place,
// untimed and unmetered.
func (s *slicer) resetting(ctx context.Context, rate float64, first, end int) (wall time.Duration, err error) {
	switch {
	case rate > 0:
		return 0, errors.New("open-loop mode cannot reset iterations")
	case s.workers > 1:
		return 0, errors.New("a workload with several workers cannot reset iterations")
	}
	for i := first; i < end; i++ {
		if err := s.reset.Reset(ctx, 0, i); err != nil {
			return 0, fmt.Errorf("reset: %w", err)
		}
		s.meter.start()
		start := clock()
		if err := s.runner.Do(ctx, 0, i); err != nil {
			return 0, err
		}
		s.took[i] = clock() - start
		s.meter.stop()
		wall += time.Duration(s.took[i])
	}
	return wall, nil
}

// parallel is the closed loop of several workers, who take iterations from one counter.
func (s *slicer) parallel(ctx context.Context, first, end int) (time.Duration, error) {
	var next atomic.Int64
	next.Store(int64(first))
	return s.together(ctx, func(ctx context.Context, worker int) error {
		last := clock()
		for {
			i := int(next.Add(1)) - 1
			if i >= end || ctx.Err() != nil {
				return ctx.Err()
			}
			if err := s.runner.Do(ctx, worker, i); err != nil {
				return err
			}
			now := clock()
			s.took[i] = now - last
			last = now
		}
	})
}

// open starts iteration i at i/Rate seconds, whether or not those before it have ended, as far as
// there are workers; a latency counts from the intended start, so that an operation that stands in
// line behind a slow one is as late as its caller would see it.
func (s *slicer) open(ctx context.Context, spec sliceSpec) (time.Duration, error) {
	interval := float64(time.Second) / spec.Rate
	var next atomic.Int64
	start := clock()
	return s.together(ctx, func(ctx context.Context, worker int) error {
		for {
			i := int(next.Add(1)) - 1
			if i >= spec.N || ctx.Err() != nil {
				return ctx.Err()
			}
			intended := start + int64(float64(i)*interval)
			waitUntil(intended)
			if err := s.runner.Do(ctx, worker, i); err != nil {
				return err
			}
			s.took[i] = clock() - intended
		}
	})
}

// together runs fn for each worker and returns the time until the last one ended. The first error
// ends all.
func (s *slicer) together(ctx context.Context, fn func(ctx context.Context, worker int) error) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	start := clock()
	for worker := range s.workers {
		wg.Go(func() {
			if err := fn(ctx, worker); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	wall := time.Duration(clock() - start)
	return wall, context.Cause(ctx)
}

// waitUntil sleeps until shortly before t and yields for the rest, as long as a sleep may be late:
// that lateness would count as the engine's.
func waitUntil(t int64) {
	if left := t - clock(); left > int64(sleepLateness) {
		sleep(time.Duration(left) - sleepLateness)
	}
	for clock() < t {
		runtime.Gosched()
	}
}

func record(h *hdrhistogram.Histogram, ns int64) {
	if h.RecordValue(min(max(ns, minLatency), maxLatency)) != nil {
		panic("bench: a clamped latency is out of range")
	}
}

// beyond is how many operations must lie beyond a percentile for it to be told.
const beyond = 10

// latencyOf summarises latencies.
func latencyOf(h *hdrhistogram.Histogram) result.Latency {
	n := float64(h.TotalCount())
	q := func(p float64) int64 {
		if n*(100-p) < 100*beyond-0.01 { // 99.9 is not exact
			return 0
		}
		return h.ValueAtQuantile(p)
	}
	return result.Latency{P50: q(50), P90: q(90), P99: q(99), P999: q(99.9), Max: h.Max()}
}
