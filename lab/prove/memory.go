package prove

import "runtime/debug"

// verifierMemory is how much memory a verifier may use before another takes its place; and what it
// may ask the system for before it collects what it no longer needs. An engine such as Badger asks
// for 80 MiB at each opening and touches little of it: to collect that and clear it for the next
// one took most of the time of opening, where memory that the system has just given is clear.
const (
	verifierMemory  = 512 << 20
	verifierAskedOf = 24 << 30
)

// collectNothing switches the collector off, as a verifier ends before it would be needed.
func (s *state) collectNothing() {
	if !s.verifies {
		s.verifies = true
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(verifierAskedOf)
	}
}

// usedUp reports whether the process has used its memory up.
func usedUp() bool { return resident() > verifierMemory }
