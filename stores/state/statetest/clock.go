package statetest

import (
	"sync/atomic"
	"time"
)

// clock is a clock that stands still until it is told to move.
type clock struct{ at atomic.Pointer[time.Time] }

func (c *clock) now() time.Time          { return *c.at.Load() }
func (c *clock) set(t time.Time)         { c.at.Store(&t) }
func (c *clock) advance(d time.Duration) { c.set(c.now().Add(d)) }
