package queuetest

import (
	"context"
	"errors"
	"fmt"
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
		jobs, err := b.Swap(s.ctx(), s.class, limit, done...)
		s.must("swap", err)
		b.wantJobs("swap", jobs, want...)
		return receipts(jobs)
	}
	r := swap(2, []string{"a", "b"})
	c := swap(1, []string{"c"}, r[0])
	before := queue.Counts{Ready: 1, Claimed: 2}
	b.wantCounts(before)
	for limit := range 3 {
		jobs, err := b.Swap(s.ctx(), s.class, 1+limit, r[1], r[0], c[0])
		s.wantStale("swap", err, r[0])
		b.wantJobs("swap with a stale receipt", jobs)
	}
	_, err := b.Swap(s.ctx(), s.class, 1, r[1], queue.Receipt{})
	s.wantKind("swap with an empty receipt", err, kv.Invalid)
	_, err = b.Swap(s.ctx(), s.class, 0, r[1])
	s.wantKind("swap for no job", err, kv.Invalid)
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
	q := s.queue(store, "work", queue.Settings{Lease: time.Hour, MaxAttempts: 2, Retry: time.Millisecond})
	var drafts []queue.Draft
	for _, text := range numbered("", jobs) {
		drafts = append(drafts, queue.Draft{Payload: []byte(text)})
	}
	_, err := q.Publish(s.ctx(), s.class, drafts...)
	s.must("publish", err)

	ctx, cancel := context.WithCancel(s.ctx())
	defer cancel()
	var mu sync.Mutex
	calls, done := 0, map[string]int{}
	do := func(_ context.Context, job queue.Job) error {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls == jobs+jobs/10 { // what comes after is done though ctx has ended
			cancel()
		}
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
		wg.Go(func() { s.wantKind("work", q.Work(ctx, s.class, do), kv.Canceled) })
	}
	wg.Wait()
	counts, err := q.Counts(s.ctx())
	s.must("counts", err)
	if want := (queue.Counts{Dead: jobs / 20}); counts != want {
		s.Errorf("after the work: %+v, want %+v", counts, want)
	}
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
