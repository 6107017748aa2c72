package queuetest

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

func testArguments(s *suite) {
	b := s.bench(queue.Settings{})
	for name, kind := range map[string]kv.Kind{"": kv.Invalid, "\xff": kv.Invalid,
		strings.Repeat("q", queue.MaxName+1): kv.TooLarge} {
		_, err := b.store.Queue(name, nil)
		s.WantKind("queue of name "+name, err, kind)
	}
	for _, set := range []queue.Settings{{Lease: -1}, {Lease: time.Microsecond}, {MaxAttempts: -2}, {Retention: -1},
		{DeadRetention: -1}, {Outdated: 2}} {
		_, err := b.store.Queue("work", &set)
		s.wantHint("settings", err, kv.Invalid)
	}
	for _, o := range []queue.Options{{Poll: -1}, {Poll: 1}} {
		_, closer, err := s.target.Open(s.TempDir(), o)
		s.wantHint("options", err, kv.Invalid)
		if err == nil {
			s.Must("close", closer())
		}
	}
	_, err := b.Publish(s.Ctx(), s.Class, queue.Draft{}, queue.Draft{Delay: -1})
	s.wantHint("a negative delay", err, kv.Invalid)
	_, err = b.Publish(s.Ctx(), s.Class, make([]queue.Draft, queue.MaxBatch+1)...)
	s.wantHint("too many jobs", err, kv.TooLarge)
	for _, limit := range []int{0, -1} {
		_, err = b.Claim(s.Ctx(), s.Class, limit)
		s.wantHint("a claim of none", err, kv.Invalid)
		_, err = b.Next(s.Ctx(), s.Class, limit)
		s.wantHint("waiting for none", err, kv.Invalid)
		_, err = b.List(s.Ctx(), queue.Ready, limit)
		s.wantHint("a list of none", err, kv.Invalid)
	}
	_, err = b.Claim(s.Ctx(), s.Class, queue.MaxBatch+1)
	s.wantHint("a claim of too many", err, kv.TooLarge)
	_, err = b.List(s.Ctx(), 9, 1)
	s.wantHint("a list of an unknown state", err, kv.Invalid)
	_, err = b.Purge(s.Ctx(), s.Class, 9)
	s.WantKind("a purge of an unknown state", err, kv.Invalid)
	s.wantHint("an empty receipt", b.Ack(s.Ctx(), s.Class, queue.Receipt{}), kv.Invalid)
	s.wantHint("a negative delay", b.Nack(s.Ctx(), s.Class, -1, queue.Receipt{ID: 1, Token: 1}), kv.Invalid)
	s.wantHint("a negative lease", b.Extend(s.Ctx(), s.Class, -1, queue.Receipt{ID: 1, Token: 1}), kv.Invalid)
	for _, text := range []string{"", "1", "1-2", "1-2-", "1-2-3-4", "1-2-3 ", "x-y-z", "01-2-3"} {
		var r queue.Receipt
		s.wantHint("receipt "+text, r.UnmarshalText([]byte(text)), kv.Invalid)
	}
	b.wantCounts(queue.Counts{})
}

func testClosed(s *suite) {
	b := s.bench(queue.Settings{})
	b.publish("a")
	receipt := b.claim(1, "a")[0].Receipt
	s.Must("close", b.store.Close())
	s.Must("close again", b.store.Close())
	for what, call := range map[string]func() error{
		"publish": func() error { _, err := b.Publish(s.Ctx(), s.Class, queue.Draft{}); return err },
		"claim":   func() error { _, err := b.Claim(s.Ctx(), s.Class, 1); return err },
		"next":    func() error { _, err := b.Next(s.Ctx(), s.Class, 1); return err },
		"ack":     func() error { return b.Ack(s.Ctx(), s.Class, receipt) },
		"nack":    func() error { return b.Nack(s.Ctx(), s.Class, 0, receipt) },
		"extend":  func() error { return b.Extend(s.Ctx(), s.Class, 0, receipt) },
		"requeue": func() error { return b.Requeue(s.Ctx(), s.Class, 1) },
		"purge":   func() error { _, err := b.Purge(s.Ctx(), s.Class); return err },
		"sweep":   func() error { _, err := b.Sweep(s.Ctx(), s.Class); return err },
		"counts":  func() error { _, err := b.Counts(s.Ctx()); return err },
		"list":    func() error { _, err := b.List(s.Ctx(), queue.Ready, 1); return err },
		"queues":  func() error { _, err := b.store.Queues(s.Ctx()); return err },
	} {
		s.WantKind(what, call(), kv.Closed)
	}
}

func testCanceled(s *suite) {
	b := s.bench(queue.Settings{})
	b.publish("a", "b")
	receipt := b.claim(1, "a")[0].Receipt
	before := queue.Counts{Ready: 1, Claimed: 1}
	ctx, cancel := context.WithCancel(s.Ctx())
	cancel()
	_, err := b.Publish(ctx, s.Class, queue.Draft{})
	s.WantKind("publish", err, kv.Canceled)
	_, err = b.Claim(ctx, s.Class, 1)
	s.WantKind("claim", err, kv.Canceled)
	_, err = b.Next(ctx, s.Class, 1)
	s.WantKind("next", err, kv.Canceled)
	_, err = b.Swap(ctx, s.Class, 1, receipt)
	s.WantKind("swap", err, kv.Canceled)
	s.WantKind("ack", b.Ack(ctx, s.Class, receipt), kv.Canceled)
	s.WantKind("nack", b.Nack(ctx, s.Class, 0, receipt), kv.Canceled)
	b.wantCounts(before)
}

// Whatever a cancellation hits, the jobs that callers have are those that are claimed.
func testCanceledClaims(s *suite) {
	const jobs, workers = 80, 8
	b := s.bench(queue.Settings{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[uint64]bool{}
	wg.Go(func() {
		for i := range jobs {
			if _, err := b.Publish(s.Ctx(), s.Class, queue.Draft{Payload: []byte{byte(i)}}); err != nil {
				s.Errorf("publish: %v", err)
			}
		}
	})
	for w := range workers {
		wg.Go(func() {
			for i := range 20 {
				ctx, cancel := context.WithCancel(s.Ctx())
				go cancel()
				claim := b.Next
				if (w+i)%2 == 0 {
					claim = b.Claim
				}
				claimed, err := claim(ctx, s.Class, 2)
				if err != nil && kv.KindOf(err) != kv.Canceled {
					s.Errorf("claim: %v", err)
				}
				mu.Lock()
				for _, job := range claimed {
					if got[job.ID] {
						s.Errorf("job %d was given out twice", job.ID)
					}
					got[job.ID] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	b.wantCounts(queue.Counts{Ready: jobs - len(got), Claimed: len(got)})
}

func testAtomic(s *suite) {
	const batches, size = 20, 5
	b := s.bench(queue.Settings{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range batches {
				if _, err := b.Publish(s.Ctx(), s.Class, make([]queue.Draft, size)...); err != nil {
					s.Errorf("publish: %v", err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		c, err := b.Counts(s.Ctx())
		s.Must("counts", err)
		listed, err := b.List(s.Ctx(), queue.Ready, 1e6)
		s.Must("list", err)
		if c.Ready%size != 0 || len(listed)%size != 0 || len(listed) < c.Ready {
			s.Fatalf("part of a publish is seen: %d counted, then %d listed", c.Ready, len(listed))
		}
	}
	b.wantCounts(queue.Counts{Ready: 2 * batches * size})
}
