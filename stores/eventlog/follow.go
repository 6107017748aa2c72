package eventlog

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/assaydb/assay/kv"
)

// Filter selects events: those that every field which is given holds of. The zero Filter selects
// all.
type Filter struct {
	Streams []string // of one of these streams
	Prefix  string   // of a stream whose name begins so
	Types   []string // of one of these types
}

// Match reports whether f selects e.
func (f *Filter) Match(e *Event) bool {
	return (len(f.Streams) == 0 || slices.Contains(f.Streams, e.Stream)) && strings.HasPrefix(e.Stream, f.Prefix) &&
		(len(f.Types) == 0 || slices.Contains(f.Types, e.Type))
}

// FollowOptions is how [Log.Follow] works. A nil *FollowOptions is the zero FollowOptions.
type FollowOptions struct {
	Filter     Filter        // the others are read and passed over
	Durability kv.Durability // of acknowledgements
	Batch      int           // acknowledge after at most so many events; 0 is 100
	Attempts   int           // at one event before it is parked; 0 is 5, and below it the event is tried for ever

	// Partitions has all who follow under one name, here and in other processes, share the work:
	// the events are dealt out to so many partitions by their streams, each of which is worked on
	// by one at a time, in order, and goes to another when that one ends or dies. Each partition is
	// a subscription of its own, called by the name, a slash and its number from
	// 0. The number must be the same for all and stay so. 0 is no sharing: whoever follows gets all
	// events.
	Partitions int

	// Lease is for how long a partition is held by one who died; 0 is 30 s. Who works keeps it
	// longer. Clocks of machines that share a log must agree.
	Lease time.Duration

	// Backoff is how long to wait after the attempt n, from 1, that failed. Nil is from 50 to 100
	// ms after the first, twice as long after each further one, and at most 30 s.
	Backoff func(n int) time.Duration
}

func (o *FollowOptions) complete() {
	if o.Batch <= 0 {
		o.Batch = 100
	}
	if o.Attempts == 0 {
		o.Attempts = 5
	}
	if o.Lease <= 0 {
		o.Lease = 30 * time.Second
	}
	if o.Backoff == nil {
		o.Backoff = backoff
	}
}

func backoff(n int) time.Duration {
	longest := min(100*time.Millisecond<<min(n-1, 20), 30*time.Second)
	return longest/2 + rand.N(longest/2)
}

// Follow has handle deal with every event that the filter selects, one at a time and in order, from
// where the subscription called name was left, until ctx ends, the log is closed or the store
// fails: it returns why.
//
// An event whose handle returns an error is tried again, the others waiting meanwhile; after its
// last attempt it is parked, and the others go on: see [Log.Parked]. Delivery is at least once:
// what a crash or the end of ctx left unacknowledged comes again. To deal with an event exactly
// once, commit its effect with [Tx.Ack] of the subscription that [SubscriptionOf] returns. Where
// that is an [*AcknowledgedError], and handle returns it, the event is dealt with.
func (l *Log) Follow(ctx context.Context, name string, handle func(ctx context.Context, e Event) error,
	opts *FollowOptions) error {
	var o FollowOptions
	if opts != nil {
		o = *opts
	}
	o.complete()
	if o.Partitions > 0 {
		return l.share(ctx, name, handle, &o)
	}
	sub, err := l.Subscribe(ctx, name)
	for err == nil {
		var events []Event
		if events, err = sub.Next(ctx, o.Batch); err == nil {
			err = sub.work(ctx, events, handle, &o, o.Filter.Match)
		}
	}
	return err
}

// work deals with the events that are selected and acknowledges those that it came past, also if
// ctx ends.
func (s *Subscription) work(ctx context.Context, events []Event, handle func(context.Context, Event) error,
	o *FollowOptions,
	selects func(*Event) bool) error {
	var err error
	done := s.Position()
	ctx = context.WithValue(ctx, followed{}, s)
	for i := range events {
		if selects(&events[i]) {
			if err = s.deal(ctx, events[i], handle, o); err != nil {
				break
			}
		}
		done = events[i].Position
	}
	if done == s.Position() {
		return err
	}
	return cmp.Or(err, s.Ack(context.WithoutCancel(ctx), o.Durability, done))
}

// deal has handle deal with e, or parks it.
func (s *Subscription) deal(ctx context.Context, e Event, handle func(context.Context, Event) error,
	o *FollowOptions) error {
	before := uint64(0) // what others are known to have acknowledged
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return followCanceled(ctx)
		}
		err := handle(ctx, e)
		var acknowledged *AcknowledgedError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &acknowledged) && acknowledged.Subscription == s.name && acknowledged.Position > before:
			if acknowledged.Position >= e.Position {
				return nil
			}
			n, before = n-1, acknowledged.Position // only what s passed over before e was acknowledged
			continue
		case ctx.Err() != nil: // what it returned may be no more than that
			return followCanceled(ctx)
		case n == o.Attempts:
			return s.log.backend.Park(ctx, o.Durability, s.name, e.Position, shorten(err.Error()))
		}
		select {
		case <-time.After(o.Backoff(n)):
		case <-s.log.done:
			return s.log.open("follow")
		case <-ctx.Done():
		}
	}
}

type followed struct{}

// SubscriptionOf returns the subscription that a handler is called for which was given to Follow,
// of its context. With Partitions it is that of the partition.
func SubscriptionOf(ctx context.Context) (s *Subscription, ok bool) {
	s, ok = ctx.Value(followed{}).(*Subscription)
	return s, ok
}

func followCanceled(ctx context.Context) error {
	return &kv.Error{Op: "follow", Kind: kv.Canceled, Err: ctx.Err()}
}

// shorten returns text as valid UTF-8 that is short enough to be kept.
func shorten(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for n := min(len(text), 1000); ; n-- {
		if n == len(text) || utf8.RuneStart(text[n]) {
			return text[:n]
		}
	}
}

// Parked is an event that a subscription could not deal with.
type Parked struct {
	Event Event
	Err   string // of the last attempt, its beginning if it was long
}

// Parked returns the events that Follow parked for the subscription called name, in order. To deal
// with them after all:
//
//	for _, p := range parked {
//		if err := handle(ctx, p.Event); err == nil {
//			err = log.Unpark(ctx, kv.Synced, name, p.Event.Position)
//		}
//	}
func (l *Log) Parked(ctx context.Context, name string) ([]Parked, error) {
	if err := l.open("parked"); err != nil {
		return nil, err
	}
	all, err := l.backend.Parked(ctx, name)
	for i := range all {
		e := &all[i].Event
		var events []Event
		if events, err = l.Load(ctx, Range{From: e.Position}.To(e.Position)); err != nil {
			return nil, err
		}
		if len(events) > 0 { // a crash may have taken it
			*e = events[0]
		}
	}
	return all, err
}

// Unpark forgets that an event was parked. One that is not parked is NotFound.
func (l *Log) Unpark(ctx context.Context, d kv.Durability, name string, position uint64) error {
	if err := l.open("unpark"); err != nil {
		return err
	}
	return l.backend.Unpark(ctx, d, name, position)
}
