package logtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// join runs fn in a transaction of the program and commits it.
func (s *suite) join(log *eventlog.Log, d kv.Durability, fn func(tx *eventlog.Tx) error) error {
	return s.target.Join(s.Ctx(), log, d, fn)
}

func testJoined(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	s.Must("reserve", log.Reserve(s.Ctx(), 1000))
	s.append(log, "s", drafts("before", 2)...)
	sub := s.subscribe(log, "reader")
	events, err := sub.Next(s.Ctx(), 10)
	s.Must("next", err)
	s.wantPositions(events, 1, 2)
	type result struct {
		events []eventlog.Event
		err    error
	}
	next := make(chan result, 1)
	go func() {
		events, err := sub.Next(s.Ctx(), 10)
		next <- result{events, err}
	}()
	err = s.join(log, s.Class, func(tx *eventlog.Tx) error {
		done, err := tx.Append("s", eventlog.Version(2), drafts("first", 2)...)
		if want := (eventlog.Appended{First: 3, Last: 4, Version: 4}); err != nil || done != want {
			s.Errorf("append: %+v, %v, want %+v", done, err, want)
		}
		_, err = tx.Append("s", eventlog.Version(2), draft("too late"))
		var conflict *eventlog.ConflictError
		if !errors.As(err, &conflict) || conflict.Actual != 4 {
			s.Errorf("append at the version before: %v, want a conflict with version 4", err)
		}
		done, err = tx.Append("t", eventlog.Empty, draft("other"))
		if want := (eventlog.Appended{First: 5, Last: 5, Version: 1}); err != nil || done != want {
			s.Errorf("append: %+v, %v, want %+v", done, err, want)
		}
		if _, err = tx.Append("", eventlog.Position(4)); !errors.Is(err, kv.Conflict) {
			s.Errorf("append at position 4: %v, want a conflict", err)
		}
		_, err = tx.Append("", eventlog.Position(5), draft("none"))
		if last := s.lastOutside(log); last != 2 {
			s.Errorf("the log is at %d before the commit, want 2", last)
		}
		return err
	})
	s.Must("transaction", err)
	got := <-next
	s.Must("next", got.err)
	s.wantPositions(got.events, 3, 6)
	s.wantPositions(s.load(log, eventlog.Range{}), 1, 6)
	if done := s.append(log, "s", draft("after")); done != (eventlog.Appended{First: 7, Last: 7, Version: 5}) {
		s.Errorf("the next append: %+v, want position 7, version 5", done)
	}
}

// lastOutside is last during a transaction of another goroutine's. Engines whose readers wait for
// writers cannot tell.
func (s *suite) lastOutside(log *eventlog.Log) uint64 {
	last, err := log.LastPosition(s.Ctx())
	s.Must("last position", err)
	return last
}

func testRolledBack(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	s.Must("reserve", log.Reserve(s.Ctx(), 1000))
	s.append(log, "s", draft("1"))
	sub := s.subscribe(log, "reader")
	boom := errors.New("boom")
	for name, fn := range map[string]func(tx *eventlog.Tx) error{
		"the program's error": func(*eventlog.Tx) error { return boom },
		"an error that the program ignores": func(tx *eventlog.Tx) error {
			if err := tx.Ack(sub, 1000); !errors.Is(err, kv.Invalid) {
				s.Errorf("ack of what is not there: %v, want Invalid", err)
			}
			return nil
		},
		"a wrong event that the program ignores": func(tx *eventlog.Tx) error {
			if _, err := tx.Append("s", eventlog.Any, eventlog.Draft{}); !errors.Is(err, kv.Invalid) {
				s.Errorf("append of an event without a type: %v, want Invalid", err)
			}
			return nil
		},
	} {
		err := s.join(log, s.Class, func(tx *eventlog.Tx) error {
			_, err := tx.Append("s", eventlog.Any, drafts("lost", 3)...)
			if err == nil {
				_, err = tx.Append("t", eventlog.Empty, draft("lost"))
			}
			if err == nil {
				err = tx.Ack(sub, 1)
			}
			return errors.Join(err, fn(tx))
		})
		if err == nil {
			s.Errorf("%s: the transaction was committed", name)
		}
		s.wantPositions(s.load(log, eventlog.Range{}), 1, 1)
	}
	if at := s.subscribe(log, "reader").Position(); at != 0 {
		s.Errorf("the subscription is at %d, want 0", at)
	}
	done, err := log.Append(s.Ctx(), s.Class, "s", eventlog.Version(1), draft("2"))
	if want := (eventlog.Appended{First: 2, Last: 2, Version: 2}); err != nil || done != want {
		s.Errorf("the next append: %+v, %v, want %+v", done, err, want)
	}
	_, err = log.Append(s.Ctx(), s.Class, "t", eventlog.Empty, draft("2"))
	s.Must("append to the stream that was rolled back", err)
}

// Appends that share commits and such in transactions meet, on the same streams: each sees all that
// were committed before.
func testJoinedConcurrently(s *suite) {
	const writers, appends = 6, 40
	log := s.open(eventlog.Options{Streams: true})
	s.Must("reserve", log.Reserve(s.Ctx(), 100_000))
	var all sync.WaitGroup
	var mu sync.Mutex
	where := map[string]eventlog.Appended{} // by the data of the first event
	for w := range writers {
		sub := s.subscribe(log, fmt.Sprint(w))
		all.Go(func() {
			for i := range appends {
				data := fmt.Sprintf("%d/%d", w, i)
				stream := []string{"shared", fmt.Sprint(w)}[i%2]
				var done eventlog.Appended
				var err error
				if w%2 == 0 {
					done, err = log.Append(s.Ctx(), s.Class, stream, eventlog.Any, draft(data), draft("second"))
				} else {
					err = s.join(log, s.Class, func(tx *eventlog.Tx) (err error) {
						if done, err = tx.Append(stream, eventlog.Any, draft(data), draft("second")); err == nil &&
							i%3 > 0 {
							err = tx.Ack(sub, done.Last)
						}
						return err
					})
				}
				if err == nil && i%3 == 0 {
					err = sub.Ack(s.Ctx(), s.Class, done.Last)
				}
				if err != nil {
					s.Errorf("append %s: %v", data, err)
					return
				}
				mu.Lock()
				where[data] = done
				mu.Unlock()
			}
		})
	}
	all.Wait()
	events := s.load(log, eventlog.Range{})
	s.wantPositions(events, 1, 2*writers*appends)
	versions := map[string]uint64{}
	for i, e := range events {
		if versions[e.Stream]++; e.Version != versions[e.Stream] {
			s.Fatalf("event %d of %s has version %d, want %d", e.Position, e.Stream, e.Version, versions[e.Stream])
		}
		if i%2 == 0 {
			want := eventlog.Appended{First: e.Position, Last: e.Position + 1, Version: e.Version + 1}
			if got := where[string(e.Data)]; got != want {
				s.Errorf("append %s returned %+v and is at %+v", e.Data, got, want)
			}
		}
	}
	for w := range writers {
		data := fmt.Sprintf("%d/%d", w, appends-1)
		if at := s.subscribe(log, fmt.Sprint(w)).Position(); at != where[data].Last {
			s.Errorf("subscription %d is at %d, want %d", w, at, where[data].Last)
		}
	}
}

// A transaction whose class a crash can lose needs positions that are reserved, durably, before it.
func testReserved(s *suite) {
	log := s.open(eventlog.Options{})
	put := func() error {
		return s.join(log, s.Class, func(tx *eventlog.Tx) error {
			_, err := tx.Append("", eventlog.Any, drafts("x", 100)...)
			return err
		})
	}
	if err := put(); err == nil {
		s.wantPositions(s.load(log, eventlog.Range{}), 1, 100)
		s.Skip("this class needs no reservation")
	} else if !errors.Is(err, kv.Invalid) || !strings.Contains(kv.HintOf(err), "Reserve") {
		s.Fatalf("got %v, hint %q, want Invalid and a hint", err, kv.HintOf(err))
	}
	if last := s.last(log); last != 0 {
		s.Errorf("the log is at %d, want 0", last)
	}
	s.Must("reserve", log.Reserve(s.Ctx(), 100))
	refused := 0
	for range 100 { // more than a block: further ones are reserved in time, or the program does it
		err := put()
		if err != nil {
			refused++
			s.Must("reserve", log.Reserve(s.Ctx(), 1000))
			err = put()
		}
		s.Must("append", err)
	}
	s.Logf("%d of 100 transactions had to reserve", refused)
	if last := s.last(log); last != 10_000 {
		s.Errorf("the log is at %d, want 10,000", last)
	}
}

func testParts(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	part := func(stream string, e eventlog.Expected, n int) eventlog.Part {
		return eventlog.Part{Stream: stream, Expected: e, Events: drafts(stream, n)}
	}
	done, err := log.AppendParts(s.Ctx(), s.Class, part("a", eventlog.Empty, 2), part("b", eventlog.Empty, 1),
		part("", eventlog.Position(0), 1),
		part("c", eventlog.Empty, 0))
	s.Must("append", err)
	want := []eventlog.Appended{{First: 1, Last: 2, Version: 2}, {First: 3, Last: 3, Version: 1}, {First: 4, Last: 4},
		{}}
	if !slices.Equal(done, want) {
		s.Errorf("got %+v, want %+v", done, want)
	}
	for _, parts := range [][]eventlog.Part{
		{part("a", eventlog.Version(2), 1), part("b", eventlog.Version(2), 1)},
		{part("c", eventlog.Version(1), 1), part("b", eventlog.Version(1), 1)},
		{part("a", eventlog.Version(2), 1), part("b", eventlog.Version(1), 1), part("", eventlog.Position(5), 1)},
	} {
		_, err := log.AppendParts(s.Ctx(), s.Class, parts...)
		s.WantKind("append of which one part is not as expected", err, kv.Conflict)
	}
	_, err = log.AppendParts(s.Ctx(), s.Class, part("a", eventlog.Any, 1), part("a", eventlog.Any, 1))
	s.WantKind("append of two parts to one stream", err, kv.Invalid)
	_, err = log.AppendParts(s.Ctx(), s.Class, part("a", eventlog.Any, 1),
		eventlog.Part{Stream: "b", Events: []eventlog.Draft{{}}})
	s.WantKind("append of a part that is wrong", err, kv.Invalid)
	none, err := log.AppendParts(s.Ctx(), s.Class)
	if len(none) != 0 || err != nil {
		s.Errorf("append of no part: %v, %v", none, err)
	}
	s.wantPositions(s.load(log, eventlog.Range{}), 1, 4)

	// Money goes from one account to another, again and again, by many at once: none sees half of
	// it.
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 20 {
				from, to := fmt.Sprint("account ", (w+i)%3), fmt.Sprint("account ", (w+i+1)%3)
				if _, err := log.AppendParts(s.Ctx(), s.Class, part(from, eventlog.Any, 1),
					part(to, eventlog.Any, 1)); err != nil {
					s.Errorf("append: %v", err)
				}
			}
		})
	}
	all.Wait()
	events := s.load(log, eventlog.Range{From: 5})
	s.wantPositions(events, 5, 4+2*4*20)
	for i := 0; i < len(events); i += 2 {
		from, to := events[i].Stream, events[i+1].Stream
		if (from[len(from)-1]-'0'+1)%3 != to[len(to)-1]-'0' {
			s.Fatalf("events %d and %d are of %q and %q: no append", events[i].Position, events[i+1].Position, from, to)
		}
	}
}

// Two subscriptions of one name get the same events, and what is made of them in transactions is
// made once.
func testAcknowledgedByAnother(s *suite) {
	log := s.open(eventlog.Options{})
	s.Must("reserve", log.Reserve(s.Ctx(), 100))
	s.append(log, "", drafts("x", 9)...)
	one, two := s.subscribe(log, "reader"), s.subscribe(log, "reader")
	next := func(sub *eventlog.Subscription, limit int, want uint64) uint64 {
		s.Helper()
		events, err := sub.Next(s.Ctx(), limit)
		s.Must("next", err)
		if events[0].Position != want {
			s.Fatalf("next is event %d, want %d", events[0].Position, want)
		}
		return events[len(events)-1].Position
	}
	refused := func(sub *eventlog.Subscription, position, at uint64) {
		s.Helper()
		var inside error
		err := s.join(log, s.Class, func(tx *eventlog.Tx) error {
			inside = tx.Ack(sub, position)
			return nil
		})
		var other *eventlog.AcknowledgedError
		if err == nil || !errors.Is(inside, kv.Conflict) || !errors.As(inside, &other) || other.Position != at {
			s.Errorf("ack of %d: %v, and the transaction: %v; want the Conflict of what is at %d", position, inside, err, at)
		}
	}
	ack := func(sub *eventlog.Subscription, position uint64) {
		s.Helper()
		s.Must("ack", s.join(log, s.Class, func(tx *eventlog.Tx) error { return tx.Ack(sub, position) }))
	}
	next(one, 4, 1)
	next(two, 6, 1)
	ack(one, 4)
	refused(two, 6, 4)
	ack(two, next(two, 1, 5))
	boom, at := errors.New("boom"), next(two, 1, 6)
	err := s.join(log, s.Class, func(tx *eventlog.Tx) error { return errors.Join(tx.Ack(two, at), boom) })
	if !errors.Is(err, boom) {
		s.Errorf("got %v, want boom", err)
	}
	two.Rewind()
	ack(two, next(two, 1, 6))
	refused(one, next(one, 2, 5), 6)
	refused(one, 3, 6)
	ack(one, next(one, 2, 7))
	refused(two, next(two, 2, 7), 8)
	ack(s.subscribe(log, "reader"), 9) // who returned nothing skips what is before
	if at := s.subscribe(log, "reader").Position(); at != 9 {
		s.Errorf("the subscription is at %d, want 9", at)
	}
}
