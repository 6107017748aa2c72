package eventlog

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
)

// sharing is one Follow of several, in this program and others, that share the partitions of a
// name.
type sharing struct {
	log    *Log
	name   string
	holder string // of leases: nobody else is called so
	handle func(context.Context, Event) error
	o      *FollowOptions
	passed []uint64 // by partition: up to there is nothing for it
}

// share is Follow with FollowOptions.Partitions.
func (l *Log) share(ctx context.Context, name string, handle func(context.Context, Event) error,
	o *FollowOptions) error {
	if err := l.open("follow"); err != nil {
		return err
	}
	s := &sharing{log: l, name: name, holder: rand.Text(), handle: handle, o: o, passed: make([]uint64, o.Partitions)}
	if err := checkSubscription("follow", s.partition(o.Partitions-1)); err != nil {
		return err
	}
	for {
		if ctx.Err() != nil {
			return followCanceled(ctx)
		}
		rung := l.bell.Listen()
		worked, until, err := s.turn(ctx)
		if err != nil {
			return err
		}
		if worked {
			continue
		}
		look := time.Until(until)
		if l.traits.Shared {
			look = min(look, 100*time.Millisecond)
		}
		select {
		case <-rung:
		case <-time.After(max(look, time.Millisecond)):
		case <-l.done:
			return l.open("follow")
		case <-ctx.Done():
		}
	}
}

// partition returns the name of a partition's subscription.
func (s *sharing) partition(k int) string { return fmt.Sprintf("%s/%d", s.name, k) }

// of returns the partition of an event.
func (s *sharing) of(e *Event) int {
	n := uint32(e.Position)
	if e.Stream != "" {
		h := fnv.New32a()
		h.Write([]byte(e.Stream))
		n = h.Sum32()
	}
	return int(n % uint32(s.o.Partitions))
}

func (s *sharing) selects(k int, e *Event) bool { return s.of(e) == k && s.o.Filter.Match(e) }

// turn works on the partition that is furthest behind and not held, for a batch. If there is none
// it returns when to look again for what others hold.
func (s *sharing) turn(ctx context.Context) (worked bool, until time.Time, err error) {
	leases, err := s.log.backend.Leases(ctx, s.name+"/")
	if err != nil {
		return false, until, err
	}
	byName := map[string]Leased{}
	for _, l := range leases {
		byName[l.Name] = l
	}
	all := make([]int, s.o.Partitions)
	for k := range all {
		all[k] = k
	}
	at := func(k int) uint64 { return max(s.passed[k], byName[s.partition(k)].Position) }
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
	until = time.Now().Add(time.Minute)
	for _, k := range all {
		first, err := s.first(ctx, k, at(k))
		if err != nil {
			return false, until, err
		}
		if first == 0 {
			continue
		}
		if held := time.UnixMilli(byName[s.partition(k)].Until); held.After(time.Now()) {
			if held.Before(until) {
				until = held
			}
			continue
		}
		worked, err := s.hold(ctx, k, first)
		if worked || err != nil {
			return worked, until, err
		}
	}
	return false, until, nil
}

// first returns the position of the first event for a partition after a position, 0 if there is
// none.
func (s *sharing) first(ctx context.Context, k int, after uint64) (uint64, error) {
	for events, err := range s.log.Batches(ctx, Range{From: after + 1}, 0) {
		if err != nil {
			return 0, err
		}
		for i := range events {
			if s.selects(k, &events[i]) {
				return events[i].Position, nil
			}
			s.passed[k] = events[i].Position
		}
	}
	return 0, nil
}

// hold works on a batch of a partition while it holds that, which begins with the event at first or
// after it. It reports false if another one was faster.
func (s *sharing) hold(ctx context.Context, k int, first uint64) (worked bool, err error) {
	name := s.partition(k)
	if err := s.lease(ctx, name); err != nil {
		if errors.Is(err, kv.Conflict) {
			return false, nil
		}
		return false, err
	}
	held, lost := context.WithCancel(ctx)
	defer s.keep(held, lost, name)()
	done, err := s.log.backend.Bookmark(ctx, name)
	if err != nil {
		return false, err
	}
	events, err := s.log.Load(ctx, Range{From: max(done+1, first), Limit: s.o.Batch})
	if err != nil {
		return false, err
	}
	sub := &Subscription{log: s.log, name: name, holder: s.holder, next: done + 1, done: done}
	err = sub.work(held, events, s.handle, s.o, func(e *Event) bool { return s.selects(k, e) })
	if errors.Is(err, kv.Conflict) || ctx.Err() == nil && held.Err() != nil {
		err = nil // another one has it now, and goes on where this one was
	}
	return true, err
}

// lease makes the lease of a partition end after the time that is set, from now.
func (s *sharing) lease(ctx context.Context, name string) error {
	now := time.Now()
	return s.log.backend.Lease(ctx, name, s.holder, now.UnixMilli(), now.Add(s.o.Lease).UnixMilli())
}

// keep holds a partition until the function is called that it returns, or it is lost: it then calls
// lost.
func (s *sharing) keep(ctx context.Context, lost context.CancelFunc, name string) (end func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-time.After(s.o.Lease / 3):
			case <-ctx.Done():
				return
			}
			if s.lease(ctx, name) != nil {
				lost()
			}
		}
	}()
	return func() {
		lost()
		<-ended
		// If it fails the lease ends by itself.
		_ = s.log.backend.Lease(context.WithoutCancel(ctx), name, s.holder, time.Now().UnixMilli(), 0)
		s.log.bell.Ring()
	}
}
