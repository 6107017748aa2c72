package queuetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

func testSwap(s *suite) {
	b := s.bench(queue.Settings{})
	b.publish("a", "b", "c", "d")
	swap := func(limit int, want []string, done ...queue.Receipt) []queue.Receipt {
		s.Helper()
		jobs, err := b.Swap(s.Ctx(), s.Class, limit, done...)
		s.Must("swap", err)
		b.wantJobs("swap", jobs, want...)
		return receipts(jobs)
	}
	r := swap(2, []string{"a", "b"})
	c := swap(1, []string{"c"}, r[0])
	before := queue.Counts{Ready: 1, Claimed: 2}
	b.wantCounts(before)
	for limit := range 3 {
		jobs, err := b.Swap(s.Ctx(), s.Class, 1+limit, r[1], r[0], c[0])
		s.wantStale("swap", err, r[0])
		b.wantJobs("swap with a stale receipt", jobs)
	}
	_, err := b.Swap(s.Ctx(), s.Class, 1, r[1], queue.Receipt{})
	s.WantKind("swap with an empty receipt", err, kv.Invalid)
	_, err = b.Swap(s.Ctx(), s.Class, 0, r[1])
	s.WantKind("swap for no job", err, kv.Invalid)
	b.wantCounts(before)
	d := swap(3, []string{"d"}, r[1], c[0], r[1])
	b.wantCounts(queue.Counts{Claimed: 1})
	swap(1, nil, d...)
	b.wantCounts(queue.Counts{})
	b.publish("e")
	swap(1, []string{"e"})
}

// testWork has workers do jobs of which some fail once and some always.
func testWork(s *suite) {
	const jobs, workers = 40, 4
	store := s.open(queue.Options{})
	q := s.queue(store, "work", queue.Settings{Lease: time.Hour, MaxAttempts: 2, Backoff: soon})
	var drafts []queue.Draft
	for _, text := range numbered("", jobs) {
		drafts = append(drafts, queue.Draft{Payload: []byte(text)})
	}
	_, err := q.Publish(s.Ctx(), s.Class, drafts...)
	s.Must("publish", err)

	ctx, cancel := context.WithCancel(s.Ctx())
	defer cancel()
	var mu sync.Mutex
	done := map[string]int{}
	do := func(_ context.Context, job queue.Job) error {
		mu.Lock()
		defer mu.Unlock()
		var n int
		if _, err := fmt.Sscan(string(job.Payload), &n); err != nil {
			return err
		}
		if n%10 == 0 && (n%20 == 0 || job.Attempts == 1) {
			return errors.New("not this time")
		}
		done[string(job.Payload)]++
		return nil
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { s.WantKind("work", q.Work(ctx, s.Class, do), kv.Canceled) })
	}
	for want := (queue.Counts{Dead: jobs / 20}); ; time.Sleep(time.Millisecond) {
		counts, err := q.Counts(s.Ctx()) // until the case's context ends
		s.Must("counts of the work", err)
		if counts == want {
			break
		}
	}
	cancel()
	wg.Wait()
	for _, text := range numbered("", jobs) {
		want := 1
		if text == "0" || text == "20" {
			want = 0
		}
		if done[text] != want {
			s.Errorf("job %s was done %d times, want %d", text, done[text], want)
		}
	}
}

// aLease is short, so that heartbeats come soon; the clock stands still unless a case moves it.
const aLease = 30 * time.Millisecond

// working has a worker work until the case ends or stop is called.
func (b *bench) working(do func(context.Context, queue.Job) error) (stop func()) {
	ctx, cancel := context.WithCancel(b.Ctx())
	ended := make(chan error, 1)
	go func() { ended <- b.Work(ctx, b.Class, do) }()
	return func() {
		b.Helper()
		cancel()
		b.WantKind("work", <-ended, kv.Canceled)
	}
}

// testLongJob has a job take ten leases, each of which passes as soon as the worker has extended
// it.
func testLongJob(s *suite) {
	b := s.bench(queue.Settings{Lease: aLease, MaxAttempts: 1})
	b.publish("long")
	finish, done := make(chan struct{}), make(chan struct{})
	stop := b.working(func(ctx context.Context, _ queue.Job) error {
		defer close(done) // a second call would panic
		<-finish
		return ctx.Err()
	})
	for range 10 {
		for {
			if jobs, err := b.List(s.Ctx(), queue.Claimed, 1); err != nil {
				s.Fatalf("list: %v", err)
			} else if len(jobs) == 1 && jobs[0].VisibleAt.Equal(b.time().Add(aLease)) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		b.pass(aLease - time.Millisecond)
		b.claim(1) // by another worker, which gets nothing
	}
	close(finish)
	<-done
	stop()
	b.wantCounts(queue.Counts{})
}

func testLostJob(s *suite) {
	b := s.bench(queue.Settings{Lease: aLease})
	b.publish("purged")
	began, ended := make(chan struct{}), make(chan error)
	stop := b.working(func(ctx context.Context, _ queue.Job) error {
		close(began)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	})
	<-began
	_, err := b.Purge(s.Ctx(), s.Class, queue.Claimed)
	s.Must("purge", err)
	var stale *queue.StaleError
	if err := <-ended; !errors.As(err, &stale) {
		s.Errorf("the context ended because of %v, want a stale receipt", err)
	}
	stop()
	b.wantCounts(queue.Counts{})
}

func testPanic(s *suite) {
	failed := make(chan error, 2)
	store := s.open(queue.Options{Ended: func(o queue.Outcome) {
		if string(o.Job.Payload) != "bad" {
			s.Errorf("job %q failed", o.Job.Payload)
		}
		failed <- o.Err
	}})
	q := s.queue(store, "work", queue.Settings{Backoff: soon, MaxAttempts: 2})
	_, err := q.Publish(s.Ctx(), s.Class, queue.Draft{Payload: []byte("bad")})
	s.Must("publish", err)
	b := &bench{suite: s, Queue: q}
	stop := b.working(func(context.Context, queue.Job) error { panic("so bad") })
	for range 2 {
		var panicked *queue.PanicError
		if err := <-failed; !errors.As(err, &panicked) || panicked.Value != "so bad" || len(panicked.Stack) == 0 {
			s.Errorf("failed with %v, want the panic", err)
		}
	}
	stop()
	b.wantCounts(queue.Counts{Dead: 1})
}

// testExit has a function end its goroutine, once under a worker that the test has started, then
// under the only one of Workers.
func testExit(s *suite) {
	b := s.bench(queue.Settings{Backoff: soon, MaxAttempts: 2})
	b.publish("bad")
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = b.Work(s.Ctx(), s.Class, func(context.Context, queue.Job) error { runtime.Goexit(); return nil })
		s.Error("the goroutine goes on")
	})
	wg.Wait()
	b.wantCounts(queue.Counts{Ready: 1})
	b.publish("good")
	w := s.workers(b.store, queue.WorkersOptions{Total: 1})
	kind := queue.Kind[string]{Name: b.Name(), Codec: plain{}}
	settings := queue.Settings{Backoff: soon, MaxAttempts: 3}
	s.Must("handle", queue.Handle(w, kind, 1, &settings, func(_ context.Context, text string) error {
		if text == "bad" {
			runtime.Goexit()
		}
		return nil
	}))
	ended := s.running(w)
	s.wait("the work", func() bool {
		c, err := b.Counts(s.Ctx())
		s.Must("counts", err)
		return c == queue.Counts{Dead: 1}
	})
	s.Must("shutdown", w.Shutdown(s.Ctx()))
	s.Must("run", <-ended)
	failures := b.list(queue.Dead, "bad")[0].Failures()
	if len(failures) != 3 || !strings.Contains(failures[0].Error, "Goexit") {
		s.Errorf("failures %+v", failures)
	}
	if got := b.Stats(); got.Retried != 2 || got.Buried != 1 || got.Done != 1 {
		s.Errorf("stats %+v", got)
	}

	w = s.workers(b.store, queue.WorkersOptions{})
	s.Must("schedule", w.Schedule(b.Name(), queue.Schedule{Name: "exits", Ticks: queue.Every(time.Millisecond),
		Missed: queue.MissedEach,
		Draft:  func(time.Time) (d queue.Draft, err error) { runtime.Goexit(); return d, err }}))
	ended = s.running(w)
	s.wait("the schedule", func() bool {
		b.pass(time.Second)
		select {
		case err := <-ended:
			s.wantHint("a schedule that ends its goroutine", err, kv.Invalid)
			return true
		default:
			return false
		}
	})
}

// plain has the payload of a job as a text.
type plain struct{}

func (plain) Encode(text string) ([]byte, error) { return []byte(text), nil }
func (plain) Decode(b []byte) (string, error)    { return string(b), nil }

// testRestarts ends a program twenty times while it works on a job that may be tried once.
func testRestarts(s *suite) {
	b := s.bench(queue.Settings{MaxAttempts: 1})
	b.publish("job")
	for range 20 {
		began := make(chan struct{})
		stop := b.working(func(ctx context.Context, job queue.Job) error {
			if job.Attempts != 1 {
				s.Errorf("attempt %d", job.Attempts)
			}
			close(began)
			<-ctx.Done()
			return ctx.Err()
		})
		<-began
		stop()
	}
	b.wantCounts(queue.Counts{Ready: 1})
	done := make(chan struct{})
	stop := b.working(func(context.Context, queue.Job) error { close(done); return nil })
	<-done
	stop()
	b.wantCounts(queue.Counts{})
}

func testRelease(s *suite) {
	b := s.bench(queue.Settings{MaxAttempts: 1})
	b.publish("a", "b")
	jobs := b.claim(2, "a", "b")
	s.Must("extend", b.Extend(s.Ctx(), s.Class, time.Hour, jobs[1].Receipt))
	s.Must("release", b.Release(s.Ctx(), s.Class, receipts(jobs)...))
	b.wantCounts(queue.Counts{Ready: 2})
	s.wantStale("release", b.Release(s.Ctx(), s.Class, jobs[0].Receipt), jobs[0].Receipt)
	for _, job := range b.claim(2, "a", "b") {
		if job.Attempts != 1 {
			s.Errorf("job %q: attempt %d after a release, want 1", job.Payload, job.Attempts)
		}
	}
}
