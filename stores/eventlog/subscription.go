package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/assaydb/assay/kv"
)

// Subscription is a place in the log that outlives the program. Next is called by one goroutine at
// a time; Ack may be called by any. It needs no closing.
//
// Delivery is at least once: what was not acknowledged comes again after the next Subscribe.
type Subscription struct {
	log    *Log
	name   string
	holder string // who must have its lease to acknowledge, or ""
	filter Filter

	mu    sync.Mutex
	next  uint64 // the position that Next goes on from
	done  uint64 // acknowledged
	last  uint64 // of an event: the log was seen to reach it
	tried uint64 // acknowledged in a transaction last, which may have been committed; 0 is none
}

// Subscribe returns the subscription called name as it was left, or creates it at the beginning of
// the log. Programs that share a name share its place: each event then comes to all of them.
func (l *Log) Subscribe(ctx context.Context, name string) (*Subscription, error) {
	if err := l.open("subscribe"); err != nil {
		return nil, err
	}
	if err := checkSubscription("subscribe", name); err != nil {
		return nil, err
	}
	done, err := l.backend.Bookmark(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Subscription{log: l, name: name, next: done + 1, done: done}, nil
}

func checkSubscription(op, name string) error {
	if name == "" {
		return invalid(op, errors.New("no name"), "name the subscription after what it feeds")
	}
	return checkName(op, "subscription", name)
}

// Subscriptions returns all subscriptions and how far each has come, sorted by name.
func (l *Log) Subscriptions(ctx context.Context) ([]Bookmark, error) {
	if err := l.open("subscriptions"); err != nil {
		return nil, err
	}
	return l.backend.Bookmarks(ctx)
}

// Unsubscribe deletes the subscription called name. If there is none, that is NotFound.
func (l *Log) Unsubscribe(ctx context.Context, name string) error {
	if err := l.open("unsubscribe"); err != nil {
		return err
	}
	return l.backend.DeleteBookmark(ctx, name)
}

// Name returns the subscription's name.
func (s *Subscription) Name() string { return s.name }

// Position returns the position up to which the events are acknowledged.
func (s *Subscription) Position() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}

// Select has Next return only the events that f selects. It passes over the others: see
// [Subscription.Passed].
func (s *Subscription) Select(f Filter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filter = f
}

// Passed returns the position of the last event that Next has returned or passed over. When those
// that it returned are dealt with, it may be acknowledged.
func (s *Subscription) Passed() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next - 1
}

// Next returns the events after those it returned last, at most limit (0 is DefaultBatch), and
// waits until there is one or ctx ends.
func (s *Subscription) Next(ctx context.Context, limit int) ([]Event, error) {
	if limit <= 0 {
		limit = DefaultBatch
	}
	for {
		s.mu.Lock()
		next, filter := s.next, s.filter
		s.mu.Unlock()
		events, err := s.log.Load(ctx, Range{From: next, Limit: limit})
		if err != nil {
			return nil, err
		}
		if len(events) > 0 {
			s.advance(events[len(events)-1].Position)
			events = slices.DeleteFunc(events, func(e Event) bool { return !filter.Match(&e) })
			if len(events) > 0 {
				return events, nil
			}
			continue
		}
		if err := s.log.Wait(ctx, next-1); err != nil {
			return nil, err
		}
	}
}

// Ack records that every event up to position is dealt with. A lower position than before says
// nothing new and changes nothing, so that acknowledgements may come in any order; to go back,
// Unsubscribe and Subscribe anew. One above what Next returned skips the events between, so that
// Ack of [Log.LastPosition] makes a new subscription begin at the end; one above the last event is
// Invalid. If the subscription was deleted, that is NotFound.
func (s *Subscription) Ack(ctx context.Context, d kv.Durability, position uint64) error {
	if err := s.log.open("ack"); err != nil {
		return err
	}
	if err := s.reaches(ctx, position); err != nil {
		return err
	}
	if err := s.log.acknowledge(ctx, d, Mark{Name: s.name, Position: position, Holder: s.holder}); err != nil {
		return err
	}
	s.acknowledged(position)
	return nil
}

// reaches refuses a position that the log has not come to. It asks the log only about positions
// that are above all that s knows of.
func (s *Subscription) reaches(ctx context.Context, position uint64) error {
	s.mu.Lock()
	known := max(s.next-1, s.done, s.last)
	s.mu.Unlock()
	if position <= known {
		return nil
	}
	last, err := s.log.LastPosition(ctx)
	if err != nil {
		return err
	}
	if position > last {
		return AboveLast(position, last)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, last)
	return nil
}

// Rewind has Next return again what it returned and was not acknowledged.
func (s *Subscription) Rewind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.tried = s.done+1, 0
}

// AcknowledgedError says that another one has dealt with events meanwhile. The error that holds it
// is of kind Conflict.
type AcknowledgedError struct {
	Subscription string
	Position     uint64 // up to it the events are acknowledged
}

func (e *AcknowledgedError) Error() string {
	return fmt.Sprintf("subscription %q: another one has acknowledged the events up to %d", e.Subscription, e.Position)
}

// follows notes that position is acknowledged in a transaction, in which at is acknowledged so far.
// If another one has acknowledged any of the events up to position that s returned, it is a
// Conflict, and s goes on after at. Who returned none acknowledges the one at position.
func (s *Subscription) follows(at, position uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at == s.tried {
		s.done = max(s.done, at)
	}
	if returned := s.next-1 > s.done; position > at && (at <= s.done || !returned) {
		s.tried = position
		return nil
	}
	s.done, s.tried = max(s.done, at), 0
	s.next = s.done + 1
	return &kv.Error{Op: "ack", Kind: kv.Conflict, Err: &AcknowledgedError{s.name, at},
		Hint: "roll back, and go on with what Next returns: the events are dealt with"}
}

// acknowledged notes that every event up to position is dealt with.
func (s *Subscription) acknowledged(position uint64) {
	s.advance(position)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = max(s.done, position)
}

// AboveLast is the error of an acknowledgement of what is not there yet. It is for backends.
func AboveLast(position, last uint64) error {
	return invalid("ack", fmt.Errorf("position %d is above the last event %d", position, last),
		"give the position of an event")
}

// advance makes Next go on after position, unless it is further already.
func (s *Subscription) advance(position uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = max(s.next, position+1)
}
