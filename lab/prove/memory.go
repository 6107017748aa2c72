package prove

import (
	"runtime/debug"
	"runtime/metrics"
)

// verifierMemory is how much memory a verifier may take from the system before another takes its
// place. Most of it is never touched: an engine such as Badger makes a table of 80 MiB at each
// opening. To collect that and clear it for the next one took most of the time of opening; memory
// that the system has just given is clear, and a new process takes 10 ms.
const verifierMemory = 1 << 30

// collectNothing switches the collector off until the process has used its memory up.
func (s *state) collectNothing() {
	if !s.verifies {
		s.verifies = true
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(2 * verifierMemory)
	}
}

// usedUp reports whether the process has used its memory up.
func usedUp() bool {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() > verifierMemory
}
