//go:build unix

package bench

import (
	"runtime"
	"syscall"
	"time"
)

// othersCounted tells that cpuTime has the children that ended.
const othersCounted = true

// cpuTime is the processor time of this process and of the children that it has waited for.
func cpuTime() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var ru syscall.Rusage
		if syscall.Getrusage(who, &ru) == nil {
			sum += time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
		}
	}
	return sum
}

// peakRSS is the most memory that this process held since it started, or since resetPeakRSS where
// that works.
func peakRSS() int64 {
	if kb, ok := procNumber("/proc/self/status", "VmHWM:"); ok {
		return kb * 1024
	}
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return ru.Maxrss // in bytes there, in KiB elsewhere
	}
	return ru.Maxrss * 1024
}
