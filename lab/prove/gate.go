package prove

import (
	"sync"
	"time"
)

// gate lets writers through together, once all have come.
type gate struct {
	of int // writers

	mu   sync.Mutex // of what follows
	left int        // of them
	here int
	open chan struct{} // closed when they go through
}

// gateTime is how long a writer waits for the others, at most: one may hang whose disk has failed.
const gateTime = 100 * time.Millisecond

// newGate returns a gate for the writers of a process.
func newGate(spec writeSpec) *gate {
	g := &gate{open: make(chan struct{})}
	for w := range spec.Past.Chains {
		if spec.commits(w) {
			g.of++
		}
	}
	return g
}

// wait waits for the others.
func (g *gate) wait() {
	g.mu.Lock()
	g.here++
	open := g.open
	g.letThrough()
	g.mu.Unlock()
	t := time.NewTimer(gateTime)
	defer t.Stop()
	select {
	case <-open:
	case <-t.C:
		g.mu.Lock()
		if g.open == open {
			g.here--
		}
		g.mu.Unlock()
	}
}

// leave has the others wait for one less.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left++
	g.letThrough()
}

// letThrough opens the gate if all are here, and closes it behind them.
func (g *gate) letThrough() {
	if g.here > 0 && g.here >= g.of-g.left {
		close(g.open)
		g.open, g.here = make(chan struct{}), 0
	}
}
