package queuetest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// next starts a worker that waits for one job, and returns where its payload comes.
func next(s *suite, q *queue.Queue) <-chan string {
	got := make(chan string, 1)
	ctx := s.Ctx()
	go func() {
		jobs, err := q.Next(ctx, s.Class, 1)
		if err != nil || len(jobs) != 1 {
			got <- fmt.Sprintf("%d jobs, %v", len(jobs), err)
			return
		}
		got <- string(jobs[0].Payload)
	}()
	return got
}

func testNext(s *suite) {
	// Real time: the timers that end delays and leases are the store's. Poll is long, so that
	// nothing else wakes.
	store := s.open(queue.Options{Poll: patience})
	q := s.queue(store, "work", queue.Settings{Lease: 30 * time.Millisecond, MaxAttempts: queue.NoLimit})
	want := func(what, payload string, got <-chan string) {
		s.Helper()
		if g := <-got; g != payload {
			s.Fatalf("%s: got %q, want %q", what, g, payload)
		}
	}
	publish := func(d queue.Draft) {
		s.Helper()
		_, err := q.Publish(s.Ctx(), s.Class, d)
		s.Must("publish", err)
	}
	worker := next(s, q)
	publish(queue.Draft{Payload: []byte("published")})
	want("a publish", "published", worker)
	want("the end of a lease", "published", next(s, q))
	_, err := q.Purge(s.Ctx(), s.Class)
	s.Must("purge", err)

	worker = next(s, q)
	publish(queue.Draft{Payload: []byte("delayed"), Delay: 20 * time.Millisecond})
	want("the end of a delay", "delayed", worker)
	_, err = q.Purge(s.Ctx(), s.Class)
	s.Must("purge", err)

	long := s.queue(store, "long", queue.Settings{Lease: time.Hour})
	_, err = long.Publish(s.Ctx(), s.Class, queue.Draft{Payload: []byte("nacked")})
	s.Must("publish", err)
	jobs, err := long.Claim(s.Ctx(), s.Class, 1)
	s.Must("claim", err)
	worker = next(s, long)
	s.Must("nack", long.Nack(s.Ctx(), s.Class, 0, jobs[0].Receipt))
	want("a nack", "nacked", worker)
}

func testNextEnds(s *suite) {
	store := s.open(queue.Options{})
	q := s.queue(store, "work", queue.Settings{})
	ctx, cancel := context.WithTimeout(s.Ctx(), 20*time.Millisecond)
	defer cancel()
	_, err := q.Next(ctx, s.Class, 1)
	s.WantKind("next", err, kv.Canceled)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			_, err := q.Next(s.Ctx(), s.Class, 1)
			s.WantKind("next", err, kv.Closed)
		})
	}
	s.Must("close", store.Close())
	wg.Wait()
}

func testNextMany(s *suite) {
	const workers = 12
	store := s.open(queue.Options{Poll: patience})
	q := s.queue(store, "work", queue.Settings{Lease: time.Hour})
	for range 3 {
		var all []<-chan string
		for range workers {
			all = append(all, next(s, q))
		}
		ctx, cancel := context.WithCancel(s.Ctx())
		go func() { _, _ = q.Next(ctx, s.Class, 1) }() // takes nobody's turn when it goes
		cancel()
		var drafts []queue.Draft
		for i := range workers {
			drafts = append(drafts, queue.Draft{Payload: fmt.Append(nil, i)})
		}
		_, err := q.Publish(s.Ctx(), s.Class, drafts[:workers/2]...)
		s.Must("publish", err)
		for _, d := range drafts[workers/2:] {
			_, err := q.Publish(s.Ctx(), s.Class, d)
			s.Must("publish", err)
		}
		seen := map[string]bool{}
		for _, got := range all {
			text := <-got
			if seen[text] {
				s.Errorf("job %s was given out twice", text)
			}
			seen[text] = true
		}
		if len(seen) != workers {
			s.Fatalf("got %v", seen)
		}
	}
}

func testConcurrent(s *suite) {
	const each, n = 30, 4
	store := s.open(queue.Options{})
	q := s.queue(store, "work", queue.Settings{Lease: time.Hour, MaxAttempts: queue.NoLimit})
	ledger := NewLedger(s.Delivers)
	var wg sync.WaitGroup
	for p := range n {
		wg.Go(func() {
			w := Worker{Queue: q, Lease: time.Hour, Class: s.Class, Tag: fmt.Sprint(p), Report: ledger.Add}
			for i := 0; i < each && !s.Failed(); i += 2 {
				if err := w.Publish(s.Ctx(), 2); err != nil {
					s.Errorf("publish: %v", err)
				}
			}
		})
	}
	var mu sync.Mutex
	left := n * each
	ctx, cancel := context.WithCancel(s.Ctx())
	for c := range n {
		wg.Go(func() {
			w := Worker{Queue: q, Lease: time.Hour, Class: s.Class, Tag: fmt.Sprint("c", c), Report: ledger.Add}
			for {
				acked, err := w.Work(ctx, 1+c)
				if err != nil {
					if ctx.Err() == nil {
						s.Errorf("work: %v", err)
					}
					return
				}
				mu.Lock()
				if left -= acked; left <= 0 {
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	cancel()
	counts, err := q.Counts(s.Ctx())
	s.Must("counts", err)
	if counts != (queue.Counts{}) || left != 0 {
		s.Errorf("left are %+v, %d", counts, left)
	}
	s.Must("ledger", ledger.Check(s.Ctx(), q))
}
