package groupcommit

import "sync/atomic"

// turn tells who may commit. One call after another takes and leaves it without a lock; as soon as
// two meet, Committer.mu and those that wait decide. Changes to anything but alone and back are
// made under Committer.mu.
type turn struct{ state atomic.Uint32 }

const (
	idle    uint32 = iota // nobody commits
	alone                 // one call commits that nobody waits for
	queued                // a leader commits, or was told to; it must call Committer.next
	crowded               // nobody commits, but several did at once before: the next must gather
	stopped               // nobody may commit any more
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

// stop lets nobody commit any more, unless somebody has the turn: he must call Committer.next.
func (t *turn) stop() bool {
	if t.take() {
		t.end()
	}
	return t.state.Load() == stopped
}
