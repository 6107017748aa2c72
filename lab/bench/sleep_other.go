//go:build !linux

package bench

import "time"

// sleepLateness is how late sleep wakes up at the most, as a rule.
const sleepLateness = 1500 * time.Microsecond

func sleep(d time.Duration) { time.Sleep(d) }
