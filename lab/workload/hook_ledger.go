package workload

import (
	"fmt"
	"sync"
)

// hookLedger knows which versions of a key a store may hold while processes put keys and are
// killed: from the last that is surely there (acknowledged, or seen by a reader) to the last that
// was tried. It may be used concurrently.
type hookLedger struct {
	mu      sync.Mutex
	least   []uint64 // by the number of the key: the oldest version that may be there
	most    []uint64 // the newest version that may be there
	given   []uint64 // the newest version that was given out, so that none is written twice
	writing map[int]bool
	touched []int
}

// newHookLedger returns a hookLedger of a store that holds these versions, which it keeps up to
// date.
func newHookLedger(versions []uint64) hookLedger {
	return hookLedger{
		least:   versions,
		most:    append([]uint64(nil), versions...),
		given:   append([]uint64(nil), versions...),
		writing: make(map[int]bool),
	}
}

// hookEntry is one get or put that is under way.
type hookEntry struct {
	key           int
	version       uint64 // to put; 0 gets
	before, after uint64 // least and most when it began
}

// begin enters a step. Of two processes that put the same key at the same time nobody knows whose
// value stays, so a put takes the next key that no other is putting, and gets if there is none.
func (l *hookLedger) begin(s hookStep) hookEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	put := s.put && len(l.writing) < len(l.least)
	for put && l.writing[s.key] {
		s.key = (s.key + 1) % len(l.least)
	}
	e := hookEntry{key: s.key, before: l.least[s.key], after: l.most[s.key]}
	if put {
		l.given[s.key]++
		e.version = l.given[s.key]
		l.most[s.key] = e.version
		l.writing[s.key] = true
	}
	l.touched = append(l.touched, s.key)
	return e
}

// end enters what became of e, and returns an error if a get found what cannot be.
func (l *hookLedger) end(e hookEntry, r processReport) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.version > 0 {
		delete(l.writing, e.key)
		switch {
		case r.closed || r.version == e.version:
			l.least[e.key] = e.version
		case r.busy:
			l.most[e.key] = e.after
		}
		return nil
	}
	if r.version == 0 {
		return nil
	}
	if r.version < e.before || r.version > l.most[e.key] {
		return fmt.Errorf("key %d: read version %d, want %d to %d", e.key, r.version, e.before, l.most[e.key])
	}
	l.least[e.key] = max(l.least[e.key], r.version)
	return nil
}

// settle returns an error if key number i cannot have this version; otherwise that is the one that
// is surely there. It is an accept.
func (l *hookLedger) settle(i int, version uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if version < l.least[i] || version > l.most[i] {
		return fmt.Errorf("key %d: version %d (0 is absent), want %d, which was acknowledged, to %d",
			i, version, l.least[i], l.most[i])
	}
	l.least[i], l.most[i] = version, version
	return nil
}

// takeTouched returns the keys that were entered since it was last called.
func (l *hookLedger) takeTouched() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := l.touched
	l.touched = nil
	return keys
}
