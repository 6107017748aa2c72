// Package calls counts the calls of a store that are running, so that closing it waits for them.
package calls

import "sync"

// Counter counts calls. The zero value is ready to use, by any number of goroutines.
type Counter struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// Enter counts a call, whose end is told by Leave, and reports false after Close.
func (c *Counter) Enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.running.Add(1)
	}
	return !c.closed
}

// Leave ends a call.
func (c *Counter) Leave() { c.running.Done() }

// Close lets nobody enter any more, and waits for those who did.
func (c *Counter) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.running.Wait()
}
