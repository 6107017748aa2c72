package observe

import (
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
)

// sampler looks at the store from time to time.
type sampler struct {
	looks sync.Mutex // one look at a time

	mu      sync.Mutex
	db      *kv.DB
	opened  time.Time
	closed  bool
	state   Store
	counted []Figure
	mark    uint64        // of the files, at the last look
	took    time.Duration // that one
	stop    chan struct{} // ends the goroutine
	done    chan struct{}
}

func (s *sampler) begin(db *kv.DB) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.db, s.closed = db, false
	if s.opened.IsZero() {
		s.opened = time.Now()
	}
	s.state.Path = db.Path()
}

// start runs fn in a goroutine until end.
func (s *sampler) start(fn func(stop <-chan struct{})) {
	s.end()
	s.wait()
	stop, done := make(chan struct{}), make(chan struct{})
	s.mu.Lock()
	s.stop, s.done, s.closed = stop, done, false
	s.mu.Unlock()
	go func() {
		defer close(done)
		fn(stop)
	}()
}

// end ends the looks. It waits for nothing: the goroutine may be asking the store that is closing.
func (s *sampler) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.stop != nil {
		close(s.stop)
		s.stop = nil
	}
}

func (s *sampler) wait() {
	s.mu.Lock()
	done := s.done
	s.mu.Unlock()
	if done != nil {
		<-done
	}
}

// name returns engine and path, empty before the store is open.
func (s *sampler) name() (engine, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return "", ""
	}
	return s.db.Engine(), s.db.Path()
}

// share is the part of the time that looks may take: one of so many.
const share = 50

// due reports whether a look is worth its time.
func (s *sampler) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.db != nil && !s.closed && time.Since(s.state.At) >= max(time.Second, share*s.took)
}

// fill puts what was found into f.
func (s *sampler) fill(f *Figures) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Opened, f.Closed, f.Store, f.Counted = s.opened, s.closed, s.state, s.counted
	if s.db != nil {
		f.Engine, f.Mode = s.db.Engine(), s.db.Mode().String()
	}
}

// counts returns what the engine counts now; nil where it tells nothing, or the store is not open.
func (s *sampler) counts() []Figure {
	s.mu.Lock()
	db, closed := s.db, s.closed
	s.mu.Unlock()
	if db == nil || closed {
		return nil
	}
	return db.Figures()
}

// look samples the store, and returns what somebody else did to it, "" if nothing was seen.
func (s *sampler) look() (change string) {
	s.looks.Lock()
	defer s.looks.Unlock()
	s.mu.Lock()
	db, before, mark := s.db, s.state, s.mark
	pause := share * s.took
	s.mu.Unlock()
	if db == nil || !before.At.IsZero() && time.Since(before.At) < pause {
		return ""
	}
	began := time.Now()
	counted := db.Figures()
	now := Store{Path: before.Path, At: began, Foreign: before.Foreign, Last: before.Last}
	var marked uint64
	if db.Caps().Persistent {
		marked = now.measure()
	}
	if n, ok := figure(counted, kv.LogBytes); ok {
		now.Log = n
	}
	found, asked := figure(counted, kv.Foreign)
	readOnly := db.Mode() == kv.ReadOnly
	now.Watched = asked || readOnly
	switch {
	case now.Missing && !before.Missing && !before.At.IsZero():
		change = "its files are gone"
	case asked && found > 0 && found != s.foreign():
		change = "commits of others"
	case !asked && readOnly && mark != 0 && mark != marked:
		change = "its files"
	}
	if change != "" {
		now.Foreign, now.Last = now.Foreign+1, began
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if counted != nil || !s.closed {
		s.counted = counted
	}
	s.state, s.mark, s.took = now, marked, time.Since(began)
	return change
}

// foreign is what the engine counted at the last look.
func (s *sampler) foreign() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := figure(s.counted, kv.Foreign)
	return n
}
