package eventlog

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/assaydb/assay/kv"
)

// Subscription is a place in the log that outlives the program. Next is called by one goroutine at a time; Ack may be
// called by any. It needs no closing.
//
// Delivery is at least once: what was not acknowledged comes again after the next Subscribe.
type Subscription struct {
	log  *Log
	name string

	mu   sync.Mutex
	next uint64 // the position that Next goes on from
	done uint64 // acknowledged
}

// Subscribe returns the subscription called name as it was left, or creates it at the beginning of the log.
// Programs that share a name share its place: each event then comes to all of them.
func (l *Log) Subscribe(ctx context.Context, name string) (*Subscription, error) {
	if err := l.open("subscribe"); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, invalid("subscribe", errors.New("no name"), "name the subscription after what it feeds")
	}
	if err := checkName("subscribe", "subscription", name); err != nil {
		return nil, err
	}
	done, err := l.backend.Bookmark(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Subscription{log: l, name: name, next: done + 1, done: done}, nil
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

// Next returns the events after those it returned last, at most limit (0 is DefaultBatch), and waits until there is one
// or ctx ends.
func (s *Subscription) Next(ctx context.Context, limit int) ([]Event, error) {
	if limit <= 0 {
		limit = DefaultBatch
	}
	for {
		s.mu.Lock()
		next := s.next
		s.mu.Unlock()
		events, err := s.log.Load(ctx, Range{From: next, Limit: limit})
		if err != nil {
			return nil, err
		}
		if len(events) > 0 {
			s.advance(events[len(events)-1].Position)
			return events, nil
		}
		if err := s.log.Wait(ctx, next-1); err != nil {
			return nil, err
		}
	}
}

// Ack records that every event up to position is dealt with. A lower position than before says nothing new and changes
// nothing, so that acknowledgements may come in any order; to go back, Unsubscribe and Subscribe anew. One above
// what Next returned skips the events between, so that Ack of [Log.LastPosition] makes a new subscription begin at the
// end; one above the last event is Invalid. If the subscription was deleted, that is NotFound.
func (s *Subscription) Ack(ctx context.Context, d kv.Durability, position uint64) error {
	s.mu.Lock()
	known := max(s.next-1, s.done)
	s.mu.Unlock()
	if position > known {
		last, err := s.log.LastPosition(ctx)
		if err != nil {
			return err
		}
		if position > last {
			return aboveLast(position, last)
		}
	}
	if err := s.log.open("ack"); err != nil {
		return err
	}
	if err := s.log.acknowledge(ctx, d, s.name, position); err != nil {
		return err
	}
	s.acknowledged(position)
	return nil
}

// AckIn is Ack within tx, a transaction of the store that [New] was given, whatever its namespace: what was made of the
// events and how far that has come are committed together, so that no event is dealt with twice. After a rollback, and
// after a crash, the events come again from the next Subscribe; [Subscription.Rewind] has this one return them.
func (s *Subscription) AckIn(tx *kv.Tx, position uint64) error {
	b, ok := s.log.backend.(*kvBackend)
	if !ok {
		return &kv.Error{Op: "ack", Kind: kv.Unsupported, Err: errors.New("the log is not kept in a key-value store"),
			Hint: "keep it in one, beside what is made of it: eventlog.New(db, nil)"}
	}
	if err := s.log.open("ack"); err != nil {
		return err
	}
	joined, err := b.db.Join(tx)
	if err != nil {
		return err
	}
	last, err := lastEvent(joined.Snapshot)
	if err == nil && position > last {
		err = aboveLast(position, last)
	}
	if err == nil {
		err = raiseBookmark(joined, bookmarkKey(s.name), position)
	}
	if err == nil {
		joined.OnCommit(func() { s.acknowledged(position) })
	}
	return err
}

// Rewind has Next return again what it returned and was not acknowledged.
func (s *Subscription) Rewind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = s.done + 1
}

// acknowledged notes that every event up to position is dealt with.
func (s *Subscription) acknowledged(position uint64) {
	s.advance(position)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = max(s.done, position)
}

func aboveLast(position, last uint64) error {
	return invalid("ack", fmt.Errorf("position %d is above the last event %d", position, last), "give the position of an event")
}

// advance makes Next go on after position, unless it is further already.
func (s *Subscription) advance(position uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = max(s.next, position+1)
}
