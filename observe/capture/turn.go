package capture

import (
	"runtime"
	"sync/atomic"
	"time"
)

// turn is a lock that counts how often something was done under it. Lock and count are one word:
// with a mutex and a counter a record would take three atomic operations in place of two, which is
// a hundredth of a write to Pebble. It is held while a record is copied and no longer, so who meets
// another one tries again.
type turn struct {
	state atomic.Uint64 // twice the count, and 1 while somebody has the turn
}

// records returns the count, also to who has no turn.
func (t *turn) records() uint64 { return t.state.Load() >> 1 }

// take waits for the turn.
func (t *turn) take() {
	if s := t.state.Load(); s&1 == 0 && t.state.CompareAndSwap(s, s|1) {
		return
	}
	t.wait()
}

// wait is take beside others. Who has the turn may have been stopped by the system.
func (t *turn) wait() {
	for tries := 1; ; tries++ {
		if s := t.state.Load(); s&1 == 0 && t.state.CompareAndSwap(s, s|1) {
			return
		}
		switch {
		case tries > 1000:
			time.Sleep(20 * time.Microsecond)
		case tries%16 == 0:
			runtime.Gosched()
		}
	}
}

// give ends the turn.
func (t *turn) give() { t.state.Store(t.state.Load() &^ 1) }

// count ends the turn and counts.
func (t *turn) count() { t.state.Store(t.state.Load() + 1) }
