package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleepLateness is how late sleep wakes up at the most, as a rule.
const sleepLateness = 150 * time.Microsecond

// sleep blocks the thread in the kernel, which wakes it within about 60 µs. time.Sleep of an
// otherwise idle program is late by up to a millisecond, because Go's scheduler then waits in
// epoll.
func sleep(d time.Duration) {
	spec := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&spec, nil) // a signal ends it early, and the caller yields until it is time
}
