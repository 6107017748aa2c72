package logtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/crash"
)

func testSelect(s *suite) {
	log := s.open(eventlog.Options{})
	for i := range 30 {
		s.append(log, []string{"order-1", "item-1", ""}[i%3], eventlog.Draft{Type: fmt.Sprint("T", i%2)})
	}
	sub := s.subscribe(log, "reader")
	sub.Select(eventlog.Filter{Prefix: "order-", Types: []string{"T1"}})
	var got []uint64
	for len(got) < 5 {
		events, err := sub.Next(s.Ctx(), 4)
		s.Must("next", err)
		for _, e := range events {
			got = append(got, e.Position)
		}
	}
	if want := []uint64{4, 10, 16, 22, 28}; !slices.Equal(got, want) {
		s.Errorf("got %v, want %v", got, want)
	}
	if at := sub.Passed(); at != 28 {
		s.Errorf("passed %d, want 28", at)
	}
	// On a busy machine the context may end before the events that are left were read.
	for ctx, wait := s.Ctx(), 10*time.Millisecond; sub.Passed() < 30 && ctx.Err() == nil; wait *= 2 {
		short, cancel := context.WithTimeout(ctx, wait)
		_, err := sub.Next(short, 4)
		cancel()
		s.WantKind("next of nothing that is selected", err, kv.Canceled)
	}
	if at := sub.Passed(); at != 30 {
		s.Errorf("passed %d, want 30", at)
	}
	s.Must("ack", sub.Ack(s.Ctx(), s.Class, sub.Passed()))
}

// seen is what handlers were given, by stream, and how many events.
type seen struct {
	mu     sync.Mutex
	events map[string][]uint64
	active map[string]bool
	n      int
}

// note notes that an event is dealt with, and returns false if another of its stream is at the same
// time.
func (n *seen) note(e eventlog.Event) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.events == nil {
		n.events, n.active = map[string][]uint64{}, map[string]bool{}
	}
	if n.active[e.Stream] {
		return false
	}
	n.events[e.Stream] = append(n.events[e.Stream], e.Position)
	n.active[e.Stream] = true
	n.n++
	return true
}

func (n *seen) done(e eventlog.Event) (all int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.active[e.Stream] = false
	return n.n
}

func testShared(s *suite) {
	const streams, events, partitions = 7, 210, 4
	log := s.open(eventlog.Options{})
	var was seen
	ctx, cancel := context.WithCancel(s.Ctx())
	defer cancel()
	o := &eventlog.FollowOptions{Partitions: partitions, Batch: 5, Durability: s.Class, Backoff: atOnce}
	handle := func(_ context.Context, e eventlog.Event) error {
		if !was.note(e) {
			s.Errorf("event %d is dealt with beside another of %s", e.Position, e.Stream)
		}
		if was.done(e) == events {
			cancel()
		}
		return nil
	}
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			ctx := ctx
			if i == 0 { // one ends early, and others go on
				var stop context.CancelFunc
				ctx, stop = context.WithTimeout(ctx, 5*time.Millisecond)
				defer stop()
			}
			s.WantKind("follow", log.Follow(ctx, "workers", handle, o), kv.Canceled)
		})
	}
	for i := range events {
		s.append(log, fmt.Sprint("s", i%streams), draft("1"))
	}
	all.Wait()
	if was.n != events {
		s.Errorf("%d events were dealt with, want %d", was.n, events)
	}
	for stream, positions := range was.events {
		if !slices.IsSorted(positions) || len(positions) != events/streams {
			s.Errorf("events of %s were dealt with in the order %v", stream, positions)
		}
	}
	marks, err := log.Subscriptions(s.Ctx())
	s.Must("subscriptions", err)
	for _, m := range marks {
		if len(m.Name) != len("workers/0") {
			s.Errorf("a subscription is called %q", m.Name)
		}
	}
}

// Two processes share the work. One is killed in the middle of it: what it held goes to the other.
func testSharedByProcesses(s *suite) {
	const events = 60
	dir := s.TempDir()
	log, _ := s.openIn(dir, eventlog.Options{Streams: true})
	for i := range events {
		s.append(log, fmt.Sprint("s", i%7), draft("1"))
	}
	job := task{Kind: "share", Dir: dir, Class: s.Class}
	reports := crash.AfterReports[report](s.T, job, 5)
	s.Killed()
	was := map[uint64]bool{}
	for _, r := range reports {
		was[r.Position] = true
	}
	ctx, cancel := context.WithCancel(s.Ctx())
	defer cancel()
	var mu sync.Mutex
	err := log.Follow(ctx, "workers", func(_ context.Context, e eventlog.Event) error {
		mu.Lock()
		defer mu.Unlock()
		if was[e.Position] = true; len(was) == events {
			cancel()
		}
		return nil
	}, job.shares())
	s.WantKind("follow", err, kv.Canceled)
}

// shares is how a share of the work is done.
func (job task) shares() *eventlog.FollowOptions {
	return &eventlog.FollowOptions{Partitions: 3, Batch: 4, Lease: 200 * time.Millisecond, Durability: job.Class}
}

// share reports every event that it is given, and holds the last one of a batch until it is killed.
func (job task) share(log *eventlog.Log, lines chan<- report) error {
	n := 0
	err := log.Follow(context.Background(), "workers", func(ctx context.Context, e eventlog.Event) error {
		if lines <- (report{Position: e.Position, Saw: true}); n == 6 {
			<-ctx.Done()
		}
		n++
		return ctx.Err()
	}, job.shares())
	return errors.Join(err, errors.New("it was not killed"))
}
