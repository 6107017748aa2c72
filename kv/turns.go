package kv

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// turns lets in either one writer alone or several at the same time. Those that come while nobody is or waits to be
// alone take an atomic addition each way, and no lock; the rest queue for a semaphore, in the order they came.
type turns struct {
	fast    atomic.Int64        // writers that are in without the semaphore, less gate while one is in alone
	queue   *semaphore.Weighted // weight 1 for one among several, allTurns for one alone
	drained chan struct{}       // wakes the one that waits to be alone, who then looks at fast again
}

const (
	allTurns = 1 << 30
	gate     = 1 << 62
)

func newTurns() turns {
	return turns{queue: semaphore.NewWeighted(allTurns), drained: make(chan struct{}, 1)}
}

// tryShared lets one of several in, unless it must wait; then it may enterShared. The first ends with leaveFast.
func (t *turns) tryShared() bool {
	if t.fast.Add(1) > 0 {
		return true
	}
	t.leaveFast()
	return false
}

func (t *turns) leaveFast() {
	if t.fast.Add(-1) == -gate {
		select {
		case t.drained <- struct{}{}:
		default:
		}
	}
}

func (t *turns) enterShared(ctx context.Context) error { return t.queue.Acquire(ctx, 1) }

func (t *turns) leaveShared() { t.queue.Release(1) }

// enterAlone waits until nobody else is in, or ctx ends.
func (t *turns) enterAlone(ctx context.Context) error {
	if err := t.queue.Acquire(ctx, allTurns); err != nil {
		return err
	}
	if t.fast.Add(-gate) == -gate {
		return nil
	}
	for t.fast.Load() != -gate { // those that are turned away count for a moment, too
		select {
		case <-t.drained:
		case <-ctx.Done():
			t.leaveAlone()
			return ctx.Err()
		}
	}
	return nil
}

func (t *turns) leaveAlone() {
	t.fast.Add(gate)
	t.queue.Release(allTurns)
}
