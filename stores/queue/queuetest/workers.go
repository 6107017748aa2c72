package queuetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/frame"
	"github.com/assaydb/assay/stores/queue"
)

type letter struct{ To string }

func (s *suite) workers(store *queue.Store, o queue.WorkersOptions) *queue.Workers {
	s.Helper()
	w, err := queue.NewWorkers(store, s.Class, &o)
	s.Must("workers", err)
	return w
}

// running has workers run until they are shut down. They must end with an error of a kind, or nil.
func (s *suite) running(w *queue.Workers) (ended chan error) {
	ended = make(chan error, 1)
	ctx, cancel := context.WithCancel(s.Ctx())
	s.Cleanup(cancel)
	go func() { ended <- w.Run(ctx) }()
	return ended
}

func testKinds(s *suite) {
	store := s.open(queue.Options{})
	var unhandled []string
	note := func(e *queue.UnhandledError) { unhandled = append(unhandled, e.Error()) }
	w := s.workers(store, queue.WorkersOptions{Total: 3, Unhandled: note})
	mail, count := queue.Kind[letter]{Name: "mail"}, queue.Kind[int]{Name: "count", Codec: text{}}
	publish := func(kind string, d queue.Draft, err error) {
		s.Helper()
		s.Must("draft", err)
		_, err = s.queue(store, kind, queue.Settings{}).Publish(s.Ctx(), s.Class, d)
		s.Must("publish", err)
	}
	const jobs = 30
	for i := range jobs {
		d, err := mail.Draft(letter{To: fmt.Sprint(i)})
		publish("mail", d, err)
		d, err = count.Draft(i)
		publish("count", d, err)
	}
	publish("count", queue.Draft{Payload: []byte("many")}, nil)
	publish("mial", queue.Draft{Payload: []byte("typo")}, nil)
	if d, err := (queue.Kind[chan int]{Name: "mail"}).Draft(nil); !errors.Is(err, kv.Invalid) {
		s.Errorf("a channel was written as %q, %v", d.Payload, err)
	}

	var mu sync.Mutex
	now, most, sum := map[string]int{}, map[string]int{}, 0
	meet := make(chan struct{})
	enter := func(kinds ...string) (leave func()) {
		mu.Lock()
		defer mu.Unlock()
		for _, k := range kinds {
			now[k]++
			most[k] = max(most[k], now[k])
		}
		return func() {
			mu.Lock()
			defer mu.Unlock()
			for _, k := range kinds {
				now[k]--
			}
		}
	}
	s.Must("handle", queue.Handle(w, mail, 2, nil, func(ctx context.Context, l letter) error {
		defer enter("mail", "all")()
		switch l.To { // two must run at once for these to end
		case "0":
			meet <- struct{}{}
		case "1":
			<-meet
		}
		if job, ok := queue.JobOf(ctx); !ok || !strings.Contains(string(job.Payload), l.To) {
			s.Errorf("job %+v of letter %+v", job, l)
		}
		return nil
	}))
	s.Must("handle", queue.Handle(w, count, 4, nil, func(_ context.Context, n int) error {
		defer enter("count", "all")()
		mu.Lock()
		defer mu.Unlock()
		sum += n
		return nil
	}))
	s.WantKind("a second function", queue.Handle(w, mail, 1, nil, func(context.Context, letter) error { return nil }),
		kv.Invalid)
	s.WantKind("no workers", queue.Handle(w, queue.Kind[int]{Name: "x"}, 0, nil,
		func(context.Context, int) error { return nil }), kv.Invalid)
	s.wantHint("workers without work", s.workers(store, queue.WorkersOptions{}).Run(s.Ctx()), kv.Invalid)
	ended := s.running(w)
	s.wait("the work", func() bool {
		m, err := s.queue(store, "mail", queue.Settings{}).Counts(s.Ctx())
		s.Must("counts", err)
		c, err := s.queue(store, "count", queue.Settings{}).Counts(s.Ctx())
		s.Must("counts", err)
		return m.Total() == 0 && c == queue.Counts{Dead: 1}
	})
	s.WantKind("a function after Run", queue.Handle(w, queue.Kind[int]{Name: "x"}, 1, nil,
		func(context.Context, int) error { return nil }), kv.Invalid)
	s.WantKind("a second Run", w.Run(s.Ctx()), kv.Invalid)
	s.Must("shutdown", w.Shutdown(s.Ctx()))
	s.Must("run", <-ended)
	s.Must("shutdown again", w.Shutdown(s.Ctx()))
	if sum != jobs*(jobs-1)/2 {
		s.Errorf("sum %d", sum)
	}
	if most["mail"] > 2 || most["count"] > 3 || most["all"] > 3 {
		s.Errorf("at once ran %v, want at most 2 mail and 3 in all", most)
	}
	dead, err := s.queue(store, "count", queue.Settings{}).List(s.Ctx(), queue.Dead, 10)
	if err != nil || len(dead) != 1 || len(dead[0].Failures()) != 1 ||
		!strings.Contains(dead[0].Failures()[0].Error, "decode a job of kind count") {
		s.Errorf("what cannot be decoded: %+v, %v", dead, err)
	}
	if len(unhandled) != 1 || !strings.Contains(unhandled[0], `"mial" has 1 jobs`) {
		s.Errorf("unhandled: %q", unhandled)
	}
	early := s.workers(store, queue.WorkersOptions{})
	s.Must("handle", queue.Handle(early, mail, 1, nil, func(context.Context, letter) error { return nil }))
	s.Must("a shutdown before Run", early.Shutdown(s.Ctx()))
	s.Must("a Run after it", early.Run(s.Ctx()))
	kept, err := s.queue(store, "mial", queue.Settings{}).Counts(s.Ctx())
	if err != nil || kept != (queue.Counts{Ready: 1}) {
		s.Errorf("the job of an unknown kind: %+v, %v", kept, err)
	}
}

// text writes numbers in a way of its own.
type text struct{}

func (text) Encode(n int) ([]byte, error)       { return fmt.Append(nil, n), nil }
func (text) Decode(b []byte) (n int, err error) { return n, json.Unmarshal(b, &n) }

// testShutdown shuts workers down while their functions end soon, when they are told, or not at
// all.
func testShutdown(s *suite) {
	kind := queue.Kind[string]{Name: "work"}
	for _, c := range []struct {
		name   string
		ends   func(ctx context.Context, finish chan struct{}) error
		kept   queue.Counts
		stats  queue.Stats
		broken bool // Shutdown says so
	}{
		{"it waits for what runs", func(_ context.Context, finish chan struct{}) error { <-finish; return nil },
			queue.Counts{}, queue.Stats{Done: 1}, false},
		{"what heeds the deadline is given back", func(ctx context.Context, _ chan struct{}) error {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), queue.ErrShutdown) {
				s.Errorf("ended by %v", context.Cause(ctx))
			}
			return ctx.Err()
		}, queue.Counts{Ready: 2}, queue.Stats{Released: 1}, false},
		{"what does not is taken away", func(_ context.Context, finish chan struct{}) error { <-finish; return nil },
			queue.Counts{Ready: 2}, queue.Stats{Released: 1}, true},
	} {
		s.Run(c.name, func(t *testing.T) {
			s := &suite{frame.Suite{T: t, Target: s.Target, Class: s.Class}, s.target}
			store := s.open(queue.Options{})
			q := s.queue(store, "work", queue.Settings{MaxAttempts: 1})
			d, err := kind.Draft("a job")
			s.Must("draft", err)
			_, err = q.Publish(s.Ctx(), s.Class, d)
			s.Must("publish", err)
			began, finish, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
			w := s.workers(store, queue.WorkersOptions{Grace: time.Duration(1)})
			if !c.broken {
				w = s.workers(store, queue.WorkersOptions{Grace: patience})
			}
			s.Must("handle", queue.Handle(w, kind, 1, &queue.Settings{MaxAttempts: 1},
				func(ctx context.Context, _ string) error {
					defer close(left)
					close(began)
					return c.ends(ctx, finish)
				}))
			ended := s.running(w)
			<-began
			deadline, pass := context.WithCancel(s.Ctx())
			defer pass()
			if c.stats.Done == 1 {
				close(finish)
			} else {
				_, err = q.Publish(s.Ctx(), s.Class, d) // is not begun
				s.Must("publish", err)
				pass()
			}
			if err := w.Shutdown(deadline); (err != nil) != c.broken {
				s.Errorf("shutdown: %v", err)
			}
			s.Must("run", <-ended)
			b := &bench{suite: s, Queue: q}
			b.wantCounts(c.kept)
			if c.broken {
				close(finish) // it goes on, and does no harm
			}
			<-left
			stats := q.Stats()
			if stats.Wait, stats.Run = 0, 0; stats != c.stats {
				s.Errorf("stats %+v, want %+v", stats, c.stats)
			}
			for _, job := range b.claim(10, strings.Split(strings.Repeat(`"a job",`, c.kept.Ready),
				",")[:c.kept.Ready]...) {
				if job.Attempts != 1 {
					s.Errorf("attempt %d after a shutdown, want 1", job.Attempts)
				}
			}
		})
	}
}

// testSchedules has several stores run a schedule at once, each through what it knows.
func testSchedules(s *suite) {
	store := s.open(queue.Options{})
	q := s.queue(store, "work", queue.Settings{})
	schedule := queue.Schedule{Name: "often", Ticks: queue.Every(5 * time.Millisecond), Missed: queue.MissedEach,
		Draft: func(tick time.Time) (queue.Draft, error) {
			return queue.Draft{Payload: tick.AppendFormat(nil, time.RFC3339Nano)}, nil
		}}
	ctx, cancel := context.WithCancel(s.Ctx())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { s.WantKind("schedule", q.RunSchedule(ctx, s.Class, schedule), kv.Canceled) })
	}
	const ticks = 25
	s.wait("the ticks", func() bool {
		c, err := q.Counts(s.Ctx())
		s.Must("counts", err)
		return c.Ready >= ticks
	})
	cancel()
	wg.Wait()
	wantTicks(s, q, ticks)
}

// wantTicks claims jobs, which must be at least as many ticks of 5 ms, each once and none missing.
func wantTicks(s *suite, q *queue.Queue, ticks int) {
	s.Helper()
	jobs, err := q.Claim(s.Ctx(), s.Class, 10_000)
	s.Must("claim", err)
	if len(jobs) < ticks {
		s.Errorf("%d jobs, want at least %d", len(jobs), ticks)
	}
	for i, job := range jobs {
		tick, err := time.Parse(time.RFC3339Nano, string(job.Payload))
		s.Must("tick", err)
		if before := jobs[max(0, i-1)]; i > 0 &&
			tick.Add(-5*time.Millisecond).Format(time.RFC3339Nano) != string(before.Payload) {
			s.Fatalf("job %d is of the tick %s, the one before of %s", i, job.Payload, before.Payload)
		}
	}
}

// testMissed moves the clock while nobody runs the schedule.
func testMissed(s *suite) {
	cron, err := queue.Cron("30 4 * * *")
	s.Must("cron", err)
	for _, c := range []struct {
		missed queue.Missed
		want   []string
	}{
		{queue.MissedOnce, []string{"02-06 04:30"}},
		{queue.MissedEach, []string{"02-03 04:30", "02-04 04:30", "02-05 04:30", "02-06 04:30"}},
		{queue.MissedNone, nil},
	} {
		b := s.bench(queue.Settings{}) // it is 02-03 04:05:06
		var published []string
		day := func(tick time.Time) (queue.Draft, error) {
			published = append(published, tick.Format("01-02 15:04"))
			return queue.Draft{Payload: []byte(published[len(published)-1])}, nil
		}
		run := func(last time.Time, looks int) {
			s.Helper()
			ctx, cancel := context.WithCancel(s.Ctx())
			ticks := &resting{Ticks: cron, last: last, looks: looks, rest: cancel}
			schedule := queue.Schedule{Name: "daily", Ticks: ticks, Draft: day, Missed: c.missed}
			s.WantKind("schedule", b.RunSchedule(ctx, s.Class, schedule), kv.Canceled)
		}
		run(start, 1)
		b.wantCounts(queue.Counts{})
		b.pass(80 * time.Hour) // it is 02-06 12:05:06
		last := time.Date(2026, 2, 6, 4, 30, 0, 0, time.UTC)
		if c.missed == queue.MissedEach {
			run(last, 1)
		} else {
			run(last, 2)
		}
		b.list(queue.Ready, c.want...)
		run(last, 1)
		b.list(queue.Ready, c.want...)
	}
	for _, expression := range []string{"", "never", "61 * * * *", "* * * *"} {
		_, err := queue.Cron(expression)
		s.wantHint("cron "+expression, err, kv.Invalid)
	}
	b := s.bench(queue.Settings{})
	stuck := queue.Schedule{Name: "stuck", Ticks: stuckTicks{},
		Draft: func(time.Time) (queue.Draft, error) { return queue.Draft{}, nil }}
	s.wantHint("ticks that do not go on", b.RunSchedule(s.Ctx(), s.Class, stuck), kv.Invalid)
	b.wantCounts(queue.Counts{})
	s.wantHint("a schedule without a name", b.RunSchedule(s.Ctx(), s.Class, queue.Schedule{Ticks: cron}), kv.Invalid)
	s.wantHint("a schedule without a draft", b.RunSchedule(s.Ctx(), s.Class, queue.Schedule{Name: "x", Ticks: cron}),
		kv.Invalid)
}

// stuckTicks do not go on.
type stuckTicks struct{}

func (stuckTicks) Next(t time.Time) time.Time { return t }

// resting ends a schedule that waits for the tick after last, because the clock stands. It is asked
// for that tick once more if it was also asked whether last is the latest.
type resting struct {
	queue.Ticks
	last  time.Time
	looks int
	rest  func()
}

func (r *resting) Next(t time.Time) time.Time {
	if t.Equal(r.last) {
		if r.looks--; r.looks == 0 {
			r.rest()
		}
	}
	return r.Ticks.Next(t)
}
