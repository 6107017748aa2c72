package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// waiter paces the attempts to get a lock that another connection holds. SQLite has such a loop of its own, but that
// one knows no context and sleeps up to 100 ms, longer than most transactions last.
type waiter struct {
	ctx     context.Context // ends the waiting early; nil does not
	limit   time.Duration   // how long to wait in all
	longest time.Duration   // a pause; 0 is longestPause
	begun   time.Time       // zero until the first wait
	pause   time.Duration
}

// The pauses stay short: the locks are not queues, so that one who looks seldom may find them taken every time, by others
// who came later. A commit that waits for readers to end looks even more often, as all others wait for it.
const (
	firstPause    = 100 * time.Microsecond
	longestPause  = 4 * time.Millisecond
	longestCommit = 500 * time.Microsecond
)

// wait sleeps a little and reports true, or reports false if the time is up or the context has ended.
func (w *waiter) wait() bool {
	if w.begun.IsZero() {
		w.begun, w.pause = time.Now(), firstPause
	} else if time.Since(w.begun) >= w.limit {
		return false
	}
	if w.limit <= 0 {
		return false
	}
	pause := w.pause/2 + rand.N(w.pause)
	w.pause = min(2*w.pause, cmp.Or(w.longest, longestPause))
	if w.ctx == nil || w.ctx.Done() == nil {
		time.Sleep(pause)
		return true
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-w.ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// failure returns err, or Canceled if err is a lock that was no longer waited for because the context has ended.
func (w *waiter) failure(err error) error {
	if w.ctx == nil || w.ctx.Err() == nil || driver.KindOf(err) != driver.Busy {
		return err
	}
	return &driver.Error{Kind: driver.Canceled, Err: fmt.Errorf("waiting for a lock: %w", w.ctx.Err())}
}
