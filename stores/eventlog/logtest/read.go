package logtest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

func testRanges(s *suite) {
	const n = 10
	log := s.open(eventlog.Options{Streams: true})
	s.append(log, "other", draft("0"))
	s.append(log, "s", drafts("s", n)...)
	s.append(log, "z", draft("0"))
	for _, c := range []struct {
		r           eventlog.Range
		first, last uint64 // of 1 to n
	}{
		{eventlog.Range{}, 1, n},
		{eventlog.Range{From: 1}.To(n), 1, n},
		{eventlog.Range{From: 3}, 3, n},
		{eventlog.Range{}.To(3), 1, 3},
		{eventlog.Range{From: 3}.To(3), 3, 3},
		{eventlog.Range{From: 4}.To(3), 1, 0},
		{eventlog.Range{From: n}, n, n},
		{eventlog.Range{From: n + 1}, 1, 0},
		{eventlog.Range{}.To(1 << 62), 1, n},
		{eventlog.Range{From: 1 << 62}, 1, 0},
		{eventlog.Range{From: 1<<64 - 1}.To(1<<64 - 1), 1, 0},
		{eventlog.Range{}.To(1<<64 - 1), 1, n},
		{eventlog.Range{Limit: 4}, 1, 4},
		{eventlog.Range{From: 2, Limit: 4}, 2, 5},
		{eventlog.Range{From: 2, Limit: 100}.To(4), 2, 4},
		{eventlog.Range{From: 2, Limit: 3}.To(9), 2, 4},
		{eventlog.Range{Limit: -1}, 1, 0},
	} {
		s.Run(fmt.Sprintf("%+v", c.r), func(t *testing.T) {
			sub := *s
			sub.T = t
			events := sub.loadStream(log, "s", c.r)
			if c.last == 0 {
				if len(events) != 0 {
					t.Errorf("got %d events, want none", len(events))
				}
				return
			}
			sub.wantPositions(events, c.first+1, c.last+1)
			if events[0].Version != c.first {
				t.Errorf("begins at version %d, want %d", events[0].Version, c.first)
			}
		})
	}
	s.wantPositions(s.load(log, eventlog.Range{From: 2}.To(n+1)), 2, n+1)
	s.wantPositions(s.load(log, eventlog.Range{From: 5, Limit: 3}), 5, 7)
	s.wantPositions(s.load(log, eventlog.Range{From: n + 2}), n+2, n+2)
	s.wantPositions(s.load(log, eventlog.Range{}.To(1<<64-1)), 1, n+2)
	for _, r := range []eventlog.Range{{From: n + 3}, eventlog.Range{From: 5}.To(4), {From: 1<<64 - 1}, {Limit: -5}} {
		if events := s.load(log, r); len(events) != 0 {
			s.Errorf("%+v: got %d events, want none", r, len(events))
		}
	}
}

func testBatches(s *suite) {
	const n = 2345
	log := s.open(eventlog.Options{})
	s.append(log, "", drafts("x", n)...)
	for _, c := range []struct {
		r           eventlog.Range
		size        int
		batches     int
		first, last uint64 // 0 is whatever is the last
	}{
		{eventlog.Range{}, 0, 3, 1, 0},
		{eventlog.Range{}, 1000, 3, 1, 0},
		{eventlog.Range{}, n, 1, 1, 0},
		{eventlog.Range{From: 100}.To(199), 7, 15, 100, 199},
		{eventlog.Range{From: 100, Limit: 50}, 20, 3, 100, 149},
		{eventlog.Range{From: n - 1}, 10, 1, n - 1, 0},
	} {
		batches := 0
		var all []eventlog.Event
		for events, err := range log.Batches(s.Ctx(), c.r, c.size) {
			s.Must("batch", err)
			batches++
			all = append(all, events...)
			s.append(log, "", draft("later")) // is not part of the walk
		}
		if c.last == 0 {
			c.last = all[len(all)-1].Position
			s.wantPositions(all, c.first, max(c.last, n))
		} else {
			s.wantPositions(all, c.first, c.last)
			if batches != c.batches {
				s.Errorf("%+v came in %d batches of %d, want %d", c.r, batches, c.size, c.batches)
			}
		}
	}
	before := s.last(log)
	var all []eventlog.Event
	for e, err := range log.All(s.Ctx(), eventlog.Range{}) {
		s.Must("walk", err)
		all = append(all, e)
		if len(all) == 10 {
			s.append(log, "", draft("later"))
		}
	}
	s.wantPositions(all, 1, before)
}

// What a program knows of an empty log is that its last event is 0: up to it there is nothing.
func testUpToNothing(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	before := s.last(log)
	s.append(log, "s", drafts("later", 3)...)
	for _, r := range []eventlog.Range{eventlog.Range{}.To(before), eventlog.Range{Reverse: true}.To(before)} {
		if events := s.load(log, r); len(events) != 0 {
			s.Errorf("%+v: got %d events, want none", r, len(events))
		}
		if events := s.loadStream(log, "s", r); len(events) != 0 {
			s.Errorf("%+v of a stream: got %d events, want none", r, len(events))
		}
		for range log.All(s.Ctx(), r) {
			s.Errorf("%+v: a walk found something", r)
		}
	}
}

// A range in reverse is that range with the last event first, and its Limit then keeps the last
// ones.
func testReverse(s *suite) {
	const n = 10
	log := s.open(eventlog.Options{Streams: true})
	for i := range 2 * n {
		s.append(log, []string{"s", "z"}[i%2], draft(fmt.Sprint(i)))
	}
	for _, c := range []struct {
		r           eventlog.Range
		first, last uint64 // versions, the first being the highest
	}{
		{eventlog.Range{}, n, 1},
		{eventlog.Range{Limit: 1}, n, n},
		{eventlog.Range{Limit: 3}, n, n - 2},
		{eventlog.Range{From: 4}, n, 4},
		{eventlog.Range{From: n, Limit: 5}, n, n},
		{eventlog.Range{From: 3}.To(7), 7, 3},
		{eventlog.Range{From: 3, Limit: 2}.To(7), 7, 6},
		{eventlog.Range{Limit: 1}.To(7), 7, 7},
		{eventlog.Range{}.To(1<<64 - 1), n, 1},
		{eventlog.Range{From: n + 1}, 0, 1},
		{eventlog.Range{Limit: -1}, 0, 1},
	} {
		c.r.Reverse = true
		what := fmt.Sprintf("%+v", c.r)
		s.wantBackwards(what, versionsOf(s.loadStream(log, "s", c.r)), c.first, c.last)
	}
	for _, size := range []int{1, 7, 100} {
		var seen []uint64
		top := s.last(log)
		for events, err := range log.Batches(s.Ctx(), eventlog.Range{From: 3, Limit: 15, Reverse: true}, size) {
			s.Must("batch", err)
			for _, e := range events {
				seen = append(seen, e.Position)
			}
			s.append(log, "z", draft("later")) // is not part of the walk
		}
		s.wantBackwards(fmt.Sprintf("a walk by %d", size), seen, top, top-14)
	}
	last := s.last(log)
	events := s.load(log, eventlog.Range{Limit: 1, Reverse: true})
	s.wantPositions(events, last, last)
}

func versionsOf(events []eventlog.Event) (versions []uint64) {
	for _, e := range events {
		versions = append(versions, e.Version)
	}
	return versions
}

// wantBackwards checks that got counts from first down to last.
func (s *suite) wantBackwards(what string, got []uint64, first, last uint64) {
	s.Helper()
	if want := int(first + 1 - last); len(got) != want {
		s.Fatalf("%s: got %v, want %d to %d", what, got, first, last)
	}
	for i, n := range got {
		if n != first-uint64(i) {
			s.Fatalf("%s: got %v, want %d to %d", what, got, first, last)
		}
	}
}

func testBatchesEnd(s *suite) {
	log := s.open(eventlog.Options{})
	s.append(log, "", drafts("x", 100)...)
	seen := 0
	for range log.All(s.Ctx(), eventlog.Range{}) {
		if seen++; seen == 5 {
			break
		}
	}
	ctx, cancel := context.WithCancel(s.Ctx())
	defer cancel()
	batches, failed := 0, 0
	for _, err := range log.Batches(ctx, eventlog.Range{}, 10) {
		if err != nil {
			s.WantKind("batch", err, kv.Canceled)
			failed++
			continue
		}
		if batches++; batches == 3 {
			cancel()
		}
	}
	if batches != 3 || failed != 1 {
		s.Errorf("got %d batches and %d errors, want 3 and 1", batches, failed)
	}
	s.append(log, "", draft("1"))
}

func testFollow(s *suite) {
	const writers, appends = 8, 100
	log := s.open(eventlog.Options{})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range appends {
				if _, err := log.Append(s.Ctx(), s.Class, "", eventlog.Any,
					drafts(fmt.Sprint(w), 1+i%3)...); err != nil {
					s.Errorf("append: %v", err)
				}
			}
		})
	}
	total := uint64(writers * (appends/3*6 + 1))
	for range 2 {
		wg.Go(func() {
			for at := uint64(0); at < total; {
				if err := log.Wait(s.Ctx(), at); err != nil {
					s.Errorf("wait: %v", err)
					return
				}
				last, err := log.LastPosition(s.Ctx())
				if err != nil || last <= at {
					s.Errorf("after waiting above %d the log is at %d, %v", at, last, err)
					return
				}
				events, err := log.Load(s.Ctx(), eventlog.Range{From: at + 1, Limit: 7})
				if err != nil || len(events) == 0 {
					s.Errorf("load from %d: %d events, %v", at+1, len(events), err)
					return
				}
				for _, e := range events {
					if at++; e.Position != at {
						s.Errorf("event %d follows %d", e.Position, at-1)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	s.wantPositions(s.load(log, eventlog.Range{}), 1, total)
}

func testConcurrent(s *suite) {
	const writers, appends = 8, 25
	log := s.open(eventlog.Options{Streams: true})
	classes := s.Classes()
	var wg sync.WaitGroup
	for w := range writers {
		stream := fmt.Sprint("s", w)
		d := classes[w%len(classes)]
		wg.Go(func() {
			for i := range appends {
				done, err := log.Append(s.Ctx(), d, stream, eventlog.Any, draft(fmt.Sprintf(`"%s/%d"`, stream, i)))
				if err != nil {
					s.Errorf("append: %v", err)
					return
				}
				events, err := log.Load(s.Ctx(), eventlog.Range{From: done.First}.To(done.Last))
				if err != nil || len(events) != 1 || string(events[0].Data) != fmt.Sprintf(`"%s/%d"`, stream, i) {
					s.Errorf("what was just appended at %d reads %v, %v", done.First, events, err)
				}
			}
		})
	}
	wg.Wait()
	s.wantPositions(s.load(log, eventlog.Range{}), 1, writers*appends)
	for w := range writers {
		stream := fmt.Sprint("s", w)
		for i, e := range s.loadStream(log, stream, eventlog.Range{}) {
			if want := fmt.Sprintf(`"%s/%d"`, stream, i); string(e.Data) != want || e.Version != uint64(i+1) {
				s.Errorf("version %d of %s is %s, want %s", e.Version, stream, e.Data, want)
			}
		}
	}
}
