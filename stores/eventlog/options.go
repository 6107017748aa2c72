package eventlog

import (
	"fmt"
	"math"
)

// Options is how a log is kept. A nil *Options is the zero Options.
type Options struct {
	// Streams keeps an index of every stream: it is what LoadStream, StreamVersion and the
	// expectations Version and Empty need, which are Unsupported without it. It is fixed by the
	// first append; another value is then Invalid.
	Streams bool

	// Reserve is how many positions are reserved first, before an append that is weaker than
	// Synced; 0 is 4,096. Each further block is four times as large, up to a million, so that the
	// syncs for it are few. NoReserve reserves none: then positions of events that were lost in a
	// crash are used again, unless a subscription acknowledged them.
	Reserve int
}

// NoReserve as Options.Reserve gives up the promise that no position is used twice, for speed.
const NoReserve = -1

// Check refuses options that make no sense. It is for backends.
func (o *Options) Check() error {
	if o.Reserve < NoReserve || o.Reserve > math.MaxInt32 {
		return invalid("open log", fmt.Errorf("option Reserve %d", o.Reserve),
			"give a number of positions, 0 for the default, or NoReserve")
	}
	return nil
}

// FirstBlock returns how many positions to reserve first, 0 for none; NextBlock how many after a
// block of n. They are for backends.
func FirstBlock(reserve int) uint64 {
	switch reserve {
	case NoReserve:
		return 0
	case 0:
		return 4096
	}
	return uint64(reserve)
}

// NextBlock returns how many positions to reserve after a block of n.
func NextBlock(n uint64) uint64 { return max(n, min(4*n, 1<<20)) }
