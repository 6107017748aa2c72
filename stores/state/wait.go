package state

import (
	"context"
	"math/rand/v2"
	"time"
)

// waiter paces the attempts to get a lock. The pauses stay short: the locks are not queues, so that one who looks
// seldom may find them taken every time, by others who came later.
type waiter struct {
	deadline time.Time // zero until the first wait
	pause    time.Duration
}

const (
	firstPause   = 100 * time.Microsecond
	longestPause = 4 * time.Millisecond
)

// wait sleeps a little and reports true, or reports false if limit has passed since the first wait, or ctx has ended.
func (w *waiter) wait(ctx context.Context, limit time.Duration) bool {
	now := time.Now()
	if w.deadline.IsZero() {
		w.deadline, w.pause = now.Add(limit), firstPause
	}
	left := w.deadline.Sub(now)
	if left <= 0 {
		return false
	}
	t := time.NewTimer(min(left, w.pause/2+rand.N(w.pause)))
	defer t.Stop()
	w.pause = min(2*w.pause, longestPause)
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
