// Package bell wakes those who wait for what a store is given next.
package bell

import "sync/atomic"

// Bell wakes everybody who listens. The zero value is ready to use, by any number of goroutines.
// One that nobody listens to costs a Ring next to nothing.
type Bell struct {
	ch atomic.Pointer[chan struct{}] // nil if nobody listens
}

// Listen returns a channel that the next Ring closes. Who listens looks afterwards whether there is
// something already.
func (b *Bell) Listen() <-chan struct{} {
	ch := make(chan struct{})
	for {
		if b.ch.CompareAndSwap(nil, &ch) {
			return ch
		}
		if others := b.ch.Load(); others != nil {
			return *others
		}
	}
}

// Ring wakes those who listen.
func (b *Bell) Ring() {
	if b.ch.Load() == nil {
		return
	}
	if ch := b.ch.Swap(nil); ch != nil {
		close(*ch)
	}
}
