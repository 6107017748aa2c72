package prove

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// verifierMemory is how much memory a verifier may use before another takes its place; and what it
// may ask the system for before it collects what it no longer needs by itself.
const (
	verifierMemory  = 512 << 20
	verifierAskedOf = 24 << 30
)

// A verifier collects what it no longer needs between two stores, where little is in use, and once
// so much was asked for: memory that it has used is at hand, where the system must find and clear
// what it gives. It does not where a single store asks for more. Badger does, for 80 MiB at each
// opening, and touches little of it: to clear that for the next one took most of the time of
// opening.
const (
	collectBehind = 64 << 20
	collectFrom   = 32 << 20
)

// collector has a verifier's memory used again.
type collector struct {
	since uint64 // what was asked for when it was collected last
	had   uint64 // what was asked for until now
}

// start switches off that the process collects by itself.
func (c *collector) start() {
	if c.had == 0 {
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(verifierAskedOf)
		c.had = asked()
		c.since = c.had
	}
}

// collect is called behind each store.
func (c *collector) collect() {
	now := asked()
	took := now - c.had
	if c.had = now; took < collectFrom && now-c.since > collectBehind {
		runtime.GC()
		c.since = now
	}
}

// asked returns how many bytes the process has asked its heap for.
func asked() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// usedUp reports whether the process has used its memory up.
func usedUp() bool { return resident() > verifierMemory }
