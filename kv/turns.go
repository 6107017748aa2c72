package kv

import (
	"context"
	"sync/atomic"
)

// turns lets in either one writer alone or several who share. Those who meet nobody take an atomic
// operation each way, and no lock; the others queue in the order they came.
type turns struct {
	in      atomic.Int64  // how many share, plus what the one who is alone counts, and the one who waits to be
	queue   chan struct{} // holds one: who has put it there waits at the gate, and others wait to put theirs
	changed chan struct{} // wakes the one at the gate, who then looks at in again
	tracer  Timer         // is told of waits
}

// What one who is alone counts: so much more for an Update that in tells of it.
const (
	alone    = -1 << 40
	updating = 3 * alone
)

func newTurns(t Timer) turns {
	return turns{tracer: t, queue: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
}

// enterShared waits until nobody is alone, or ctx ends. It reports whether nobody else was in: who
// comes until that one leaves finds somebody.
func (t *turns) enterShared(ctx context.Context) (first bool, err error) {
	in := t.in.Add(1)
	if in > 0 {
		return in == 1, nil
	}
	t.leave(1)
	return false, t.wait(ctx, 1)
}

// enterAlone waits until nobody else is in, or ctx ends. as is alone or updating.
func (t *turns) enterAlone(ctx context.Context, as int64) error {
	if t.in.CompareAndSwap(0, as) {
		return nil
	}
	return t.wait(ctx, as)
}

func (t *turns) leaveAlone() { t.leave(alone) }

// leave ends the turn of one who counts as that: 1 for who shares.
func (t *turns) leave(as int64) {
	if in := t.in.Add(-as); in != 0 && (as != 1 || in == alone || in == updating) {
		t.wake()
	}
}

func (t *turns) wake() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// wait queues, counts n in, and waits at the gate: 1 until nobody is alone, otherwise until nobody
// else is in. Those that are turned away count for a moment, too.
func (t *turns) wait(ctx context.Context, n int64) (err error) {
	var sp span
	ctx = sp.begin(ctx, t.tracer, Event{Op: "turn"})
	defer func() { sp.end(err) }()
	if n := t.suspects(); n > 0 {
		var cancel context.CancelCauseFunc
		ctx, cancel = t.watch(ctx, n)
		defer func() {
			if err != nil && context.Cause(ctx) == errWithin {
				err = errWithin
			}
			cancel(nil)
		}()
	}
	select {
	case t.queue <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-t.queue }()
	t.in.Add(n)
	for {
		if now := t.in.Load(); n > 0 && now > 0 || now == n && n < 0 {
			return nil
		}
		select {
		case <-t.changed:
		case <-ctx.Done():
			t.in.Add(-n)
			return ctx.Err()
		}
	}
}
