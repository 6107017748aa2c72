package logtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

func (s *suite) subscribe(log *eventlog.Log, name string) *eventlog.Subscription {
	s.Helper()
	sub, err := log.Subscribe(s.Ctx(), name)
	s.Must("subscribe", err)
	return sub
}

func testSubscription(s *suite) {
	const writers, appends = 6, 60
	log := s.open(eventlog.Options{Streams: true})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range appends {
				if _, err := log.Append(s.Ctx(), s.Class, fmt.Sprint(w), eventlog.Any,
					drafts("x", 1+i%2)...); err != nil {
					s.Errorf("append: %v", err)
				}
			}
		})
	}
	const total = writers * appends * 3 / 2
	for _, name := range []string{"one", "two"} {
		wg.Go(func() {
			at := uint64(0)
			for at < total {
				sub, err := log.Subscribe(s.Ctx(), name) // as after a restart
				if err != nil || sub.Position() != at {
					s.Errorf("%s goes on at %v, %v, want %d", name, sub.Position(), err, at)
					return
				}
				for range 5 {
					if at == total {
						break
					}
					events, err := sub.Next(s.Ctx(), 10)
					if err != nil || len(events) == 0 || len(events) > 10 {
						s.Errorf("%s: %d events, %v", name, len(events), err)
						return
					}
					for _, e := range events {
						if at++; e.Position != at {
							s.Errorf("%s: event %d follows %d", name, e.Position, at-1)
							return
						}
					}
					if err := sub.Ack(s.Ctx(), s.Class, at); err != nil {
						s.Errorf("%s: ack: %v", name, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func testSubscriptionWaits(s *suite) {
	log := s.open(eventlog.Options{})
	sub := s.subscribe(log, "reader")
	type result struct {
		events []eventlog.Event
		err    error
	}
	next := func(ctx context.Context) <-chan result {
		c := make(chan result, 1)
		go func() {
			events, err := sub.Next(ctx, 10)
			c <- result{events, err}
		}()
		return c
	}
	waiting := next(s.Ctx())
	s.append(log, "", draft("1"))
	r := <-waiting
	s.Must("next", r.err)
	s.wantPositions(r.events, 1, 1)

	ctx, cancel := context.WithCancel(s.Ctx())
	waiting = next(ctx)
	cancel()
	s.WantKind("next with a canceled context", (<-waiting).err, kv.Canceled)

	waiting = next(s.Ctx())
	s.Must("close", log.Close())
	s.WantKind("next on a closed log", (<-waiting).err, kv.Closed)
}

func testAck(s *suite) {
	log := s.open(eventlog.Options{})
	s.append(log, "", drafts("x", 10)...)
	sub := s.subscribe(log, "reader")
	steps := []struct{ ack, position, next uint64 }{
		{0, 0, 1},
		{3, 3, 4},
		{2, 3, 5},
		{3, 3, 6},
		{5, 5, 7},
		{9, 9, 10}, // skips 8 and 9
	}
	for _, c := range steps {
		s.Must("ack", sub.Ack(s.Ctx(), s.Class, c.ack))
		again := s.subscribe(log, "reader")
		if sub.Position() != c.position || again.Position() != c.position {
			s.Errorf("after ack %d: position %d, subscribed again %d, want %d", c.ack, sub.Position(), again.Position(),
				c.position)
		}
		events, err := sub.Next(s.Ctx(), 1)
		s.Must("next", err)
		s.wantPositions(events, c.next, c.next)
		events, err = again.Next(s.Ctx(), 1)
		s.Must("next", err)
		s.wantPositions(events, c.position+1, c.position+1)
	}
	s.WantKind("ack of what is not there yet", sub.Ack(s.Ctx(), s.Class, 11), kv.Invalid)
	s.Must("unsubscribe", log.Unsubscribe(s.Ctx(), "reader"))
	s.WantKind("ack after unsubscribe", sub.Ack(s.Ctx(), s.Class, 10), kv.NotFound)
}

func testConcurrentAcks(s *suite) {
	const subs, events = 8, 30
	log := s.open(eventlog.Options{})
	s.append(log, "", drafts("x", events)...)
	classes := s.Classes()
	var wg sync.WaitGroup
	for i := range subs {
		d := classes[i%len(classes)]
		sub := s.subscribe(log, fmt.Sprint(i))
		gone := s.subscribe(log, fmt.Sprint("gone ", i))
		s.Must("unsubscribe", log.Unsubscribe(s.Ctx(), gone.Name()))
		wg.Go(func() {
			for p := range uint64(events) {
				if err := sub.Ack(s.Ctx(), d, p+1); err != nil {
					s.Errorf("ack: %v", err)
				}
				if again, err := log.Subscribe(s.Ctx(), sub.Name()); err != nil || again.Position() != p+1 {
					s.Errorf("acknowledged %d, subscribed again: %v, %v", p+1, again, err)
				}
			}
		})
		wg.Go(func() {
			for range events {
				s.WantKind("ack after unsubscribe", gone.Ack(s.Ctx(), d, 1), kv.NotFound)
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(s.Ctx())
	cancel()
	s.WantKind("ack with a canceled context", s.subscribe(log, "0").Ack(ctx, s.Class, 1), kv.Canceled)
}

func testSubscriptions(s *suite) {
	log := s.open(eventlog.Options{})
	s.append(log, "", drafts("x", 3)...)
	want := []eventlog.Bookmark{}
	for i, name := range []string{"B", "a", "a\x00", "ab", "é"} {
		sub := s.subscribe(log, name)
		if sub.Name() != name {
			s.Errorf("name %q, want %q", sub.Name(), name)
		}
		s.Must("ack", sub.Ack(s.Ctx(), s.Class, uint64(i%4)))
		want = append(want, eventlog.Bookmark{Name: name, Position: uint64(i % 4)})
	}
	wantList := func() {
		s.Helper()
		got, err := log.Subscriptions(s.Ctx())
		s.Must("subscriptions", err)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			s.Errorf("got %v, want %v", got, want)
		}
	}
	wantList()
	s.Must("unsubscribe", log.Unsubscribe(s.Ctx(), "a"))
	want = append(want[:1], want[2:]...)
	wantList()
	s.WantKind("unsubscribe again", log.Unsubscribe(s.Ctx(), "a"), kv.NotFound)
	if sub := s.subscribe(log, "a"); sub.Position() != 0 {
		s.Errorf("a subscription that was deleted begins at %d, want 0", sub.Position())
	}
	_, err := log.Subscribe(s.Ctx(), "")
	s.WantKind("subscribe without a name", err, kv.Invalid)
	_, err = log.Subscribe(s.Ctx(), "\xff")
	s.WantKind("subscribe with a name that is not UTF-8", err, kv.Invalid)
}

func testSubscriptionReopened(s *suite) {
	dir := s.TempDir()
	at := uint64(0)
	for round := range 4 {
		log, closeAll := s.openIn(dir, eventlog.Options{})
		s.append(log, "", drafts("x", 5)...)
		sub := s.subscribe(log, "reader")
		if sub.Position() != at {
			s.Fatalf("round %d: position %d, want %d", round, sub.Position(), at)
		}
		events, err := sub.Next(s.Ctx(), 100)
		s.Must("next", err)
		s.wantPositions(events, at+1, uint64(round+1)*5)
		at += 3 // the others come again
		s.Must("ack", sub.Ack(s.Ctx(), s.Class, at))
		closeAll()
	}
}
