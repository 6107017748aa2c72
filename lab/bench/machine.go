package bench

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/lab/result"
)

// machine watches what else the machine does during a run.
type machine struct {
	before, most *float64 // load average
	start        processors
	own          time.Duration // that this process and its children had used
	speed        []float64     // of the processor, each time that somebody looked: ns of a fixed piece of work
}

// processors is the time that all processors together spent, since some moment.
type processors struct {
	all, busy, steal time.Duration
	known            bool
}

func newMachine() machine {
	m := machine{start: processorTime(), own: cpuTime()}
	m.before = loadAverage()
	m.most = m.before
	return m
}

// look takes a sample.
func (m *machine) look() {
	if load := loadAverage(); load != nil && (m.most == nil || *load > *m.most) {
		m.most = load
	}
	best := int64(0)
	for range 3 { // the fastest of a few, so that one interruption does not count
		start := clock()
		fixedWork()
		if took := clock() - start; best == 0 || took < best {
			best = took
		}
	}
	m.speed = append(m.speed, float64(best))
}

// fixedWork takes some hundred microseconds on a processor that has nothing else to do.
func fixedWork() {
	x := uint64(88172645463325252)
	for range 1 << 17 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	runtime.KeepAlive(x) // or the compiler leaves the loop out
}

// report returns what was seen. All children must have ended: their time is not that of others.
func (m *machine) report(syncs []float64) *result.Machine {
	r := &result.Machine{LoadBefore: m.before, LoadMost: m.most, CPUDrift: drift(m.speed), DiskDrift: drift(syncs)}
	now := processorTime()
	if all := float64(now.all - m.start.all); now.known && m.start.known && all > 0 {
		own := cpuTime() - m.own
		others := max(float64(now.busy-m.start.busy-own)/all, 0)
		steal := max(float64(now.steal-m.start.steal)/all, 0)
		r.Others, r.Steal = &others, &steal
	}
	return r
}

// drift returns how much longer the slowest third of values is than the fastest, by their medians.
func drift(values []float64) *float64 {
	const thirds = 3
	n := len(values) / thirds
	if n < thirds {
		return nil
	}
	var middle []float64
	for i := range thirds {
		part := slices.Sorted(slices.Values(values[i*n : (i+1)*n]))
		middle = append(middle, part[n/2])
	}
	d := slices.Max(middle)/slices.Min(middle) - 1
	return &d
}

// What a machine may do beside a run before it is said.
const (
	muchOthers = 0.15 // the kernel's own threads, which write what the engines sync, are among them
	muchSteal  = 0.02
	muchDrift  = 0.20
	muchDisk   = 0.50
)

// reportMachine records what else went on, and warns of what widens the intervals.
func (r *runner) reportMachine() {
	m := r.machine.report(r.floor.appendSync)
	r.run.Machine = m
	var seen []string
	say := func(v *float64, limit float64, text string) {
		if v != nil && *v > limit {
			seen = append(seen, fmt.Sprintf(text, 100**v))
		}
	}
	say(m.Others, muchOthers, "other programs took %.0f %% of the processors")
	say(m.Steal, muchSteal, "the hypervisor gave %.0f %% of the processors to other machines")
	say(m.CPUDrift, muchDrift, "the processor's speed changed by %.0f %%")
	say(m.DiskDrift, muchDisk, "the disk's syncs changed by %.0f %%")
	hint := "close other programs and measure again"
	if m.Others == nil || *m.Others <= muchOthers {
		hint = "measure again when the machine is quieter, or longer, with a higher --budget"
	}
	if len(seen) > 0 {
		r.warn("during the run "+strings.Join(seen, ", ")+": more comparisons stay open", hint)
	}
}
