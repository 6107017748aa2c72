package eventlog

import "sync/atomic"

// turn tells who may commit. One append after another takes and leaves it without a lock; as soon as two meet, Log.mu
// and the queue decide. Changes to anything but alone and back are made under Log.mu.
type turn struct{ state atomic.Uint32 }

const (
	idle    uint32 = iota // nobody commits
	alone                 // one append commits that nobody waits for
	queued                // a leader commits, or was told to; it must call Log.next
	crowded               // nobody commits, but several did at once before: the next must gather
	stopped               // the log is closed
)

// tryAlone takes the turn if nobody has it or is about to come back for it.
func (t *turn) tryAlone() bool { return t.state.CompareAndSwap(idle, alone) }

// leaveAlone gives back what tryAlone took, unless somebody waits.
func (t *turn) leaveAlone() bool { return t.state.CompareAndSwap(alone, idle) }

// take takes the turn for a leader, or announces that somebody waits for it.
func (t *turn) take() (lead bool) {
	for {
		s := t.state.Load()
		if s == queued || s == stopped || t.state.CompareAndSwap(s, queued) {
			return s == idle || s == crowded
		}
	}
}

// leave gives the turn of a leader back, who led a group of so many.
func (t *turn) leave(crowd int) {
	if crowd > 1 {
		t.state.Store(crowded)
	} else {
		t.state.Store(idle)
	}
}

// end lets nobody commit any more; it is for one who has the turn.
func (t *turn) end() { t.state.Store(stopped) }

// stop lets nobody commit any more, unless somebody has the turn: he must call Log.next.
func (t *turn) stop() bool {
	if t.take() {
		t.end()
	}
	return t.state.Load() == stopped
}
