package logtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// atOnce is a backoff of no time.
func atOnce(int) time.Duration { return 0 }

// follow runs Follow until handle was given the event at position last, and returns the positions
// that it was given.
func (s *suite) follow(log *eventlog.Log, name string, o eventlog.FollowOptions, last uint64,
	handle func(e eventlog.Event) error) []uint64 {
	s.Helper()
	var given []uint64
	ctx, cancel := context.WithCancel(s.Ctx())
	defer cancel()
	o.Durability = s.Class
	o.Backoff = atOnce
	done := errors.New("done")
	err := log.Follow(ctx, name, func(_ context.Context, e eventlog.Event) error {
		if e.Position == last {
			cancel()
			return done
		}
		given = append(given, e.Position)
		return handle(e)
	}, &o)
	s.WantKind("follow", err, kv.Canceled)
	return given
}

func testHandler(s *suite) {
	log := s.open(eventlog.Options{})
	for i := range 40 {
		s.append(log, []string{"order-1", "order-2", "item-1", ""}[i%4], eventlog.Draft{Type: fmt.Sprint("T", i%3)})
	}
	end := s.append(log, "order-1", eventlog.Draft{Type: "T0"}).Last
	orders := func(e eventlog.Event) bool { return strings.HasPrefix(e.Stream, "order-") }
	for name, c := range map[string]struct {
		filter  eventlog.Filter
		selects func(e eventlog.Event) bool
	}{
		"all": {eventlog.Filter{}, func(eventlog.Event) bool { return true }},
		"stream": {eventlog.Filter{Streams: []string{"order-1", "none"}},
			func(e eventlog.Event) bool { return e.Stream == "order-1" }},
		"prefix": {eventlog.Filter{Prefix: "order-"}, orders},
		"type":   {eventlog.Filter{Types: []string{"T0", "T2"}}, func(e eventlog.Event) bool { return e.Type != "T1" }},
		"both": {eventlog.Filter{Prefix: "order-", Types: []string{"T0"}},
			func(e eventlog.Event) bool { return orders(e) && e.Type == "T0" }},
	} {
		var want []uint64
		for _, e := range s.load(log, eventlog.Range{}.To(end-1)) {
			if c.selects(e) {
				want = append(want, e.Position, e.Position) // once for each attempt
			}
		}
		tries := 0
		got := s.follow(log, name, eventlog.FollowOptions{Filter: c.filter, Batch: 7}, end, func(eventlog.Event) error {
			if tries++; tries%2 == 1 {
				return errors.New("not yet")
			}
			return nil
		})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			s.Errorf("%s: given %v, want %v", name, got, want)
		}
		if at := s.subscribe(log, name).Position(); at != end-1 {
			s.Errorf("%s: acknowledged up to %d, want %d", name, at, end-1)
		}
	}
}

func testPoison(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	s.append(log, "s", drafts("x", 6)...)
	cause := strings.Repeat("é", 600) + "\xff"
	attempts := map[uint64]int{}
	s.follow(log, "worker", eventlog.FollowOptions{Attempts: 3}, 6, func(e eventlog.Event) error {
		if attempts[e.Position]++; e.Position%3 == 2 {
			return errors.New(cause)
		}
		return nil
	})
	if want := map[uint64]int{1: 1, 2: 3, 3: 1, 4: 1, 5: 3}; fmt.Sprint(attempts) != fmt.Sprint(want) {
		s.Errorf("attempts %v, want %v", attempts, want)
	}
	s.subscribe(log, "worke")
	wantParked := func(name string, want ...uint64) {
		s.Helper()
		parked, err := log.Parked(s.Ctx(), name)
		s.Must("parked", err)
		var got []uint64
		for _, p := range parked {
			got = append(got, p.Event.Position)
			if stored := s.load(log, eventlog.Range{From: p.Event.Position,
				Limit: 1}); fmt.Sprint(p.Event) != fmt.Sprint(stored[0]) {
				s.Errorf("parked is %v, want %v", p.Event, stored[0])
			}
			if p.Err != cause[:1000] {
				s.Errorf("event %d is parked for %q, want the first 1,000 bytes of the error", p.Event.Position, p.Err)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			s.Errorf("parked for %s are %v, want %v", name, got, want)
		}
	}
	wantParked("worker", 2, 5)
	wantParked("worke")
	s.Must("unpark", log.Unpark(s.Ctx(), s.Class, "worker", 2))
	s.WantKind("unpark again", log.Unpark(s.Ctx(), s.Class, "worker", 2), kv.NotFound)
	wantParked("worker", 5)
	s.Must("unsubscribe", log.Unsubscribe(s.Ctx(), "worke"))
	wantParked("worker", 5)
	s.Must("unsubscribe", log.Unsubscribe(s.Ctx(), "worker"))
	wantParked("worker")
}

func testHandlerInterrupted(s *suite) {
	log := s.open(eventlog.Options{})
	s.append(log, "", drafts("x", 50)...)
	next := uint64(1)
	for next <= 50 {
		stop := min(next+7, 51)
		if stop == 51 {
			s.append(log, "", draft("end"))
		}
		for _, position := range s.follow(log, "worker", eventlog.FollowOptions{}, stop,
			func(eventlog.Event) error { return nil }) {
			if position != next {
				s.Fatalf("given event %d, want %d", position, next)
			}
			next++
		}
	}
	failing := make(chan error)
	go func() {
		failing <- log.Follow(s.Ctx(), "failing", func(context.Context,
			eventlog.Event) error {
			return errors.New("never")
		},
			&eventlog.FollowOptions{Durability: s.Class, Attempts: -1, Backoff: func(int) time.Duration {
				return patience
			}})
	}()
	following := make(chan error)
	go func() {
		following <- log.Follow(s.Ctx(), "worker", func(context.Context, eventlog.Event) error { return nil },
			&eventlog.FollowOptions{Durability: s.Class})
	}()
	s.Must("close", log.Close())
	s.WantKind("follow of a log that is closed", <-following, kv.Closed)
	s.WantKind("follow, between attempts, of a log that is closed", <-failing, kv.Closed)
}
