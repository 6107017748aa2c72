package bench

import (
	"runtime/metrics"
	"time"
)

// usage is what this process has used.
type usage struct {
	allocs, allocBytes uint64
	cpu                time.Duration
	written            *int64 // bytes sent to the device; nil where the system does not tell
}

// meter sums up what is used between start and stop, over any number of such spans. Its own
// readings allocate and take time, and none of that counts.
//
// The runtime counts a small allocation when the block that it came from is full. A span may be off
// by what is left of one block of each size, to either side: over many spans that evens out.
type meter struct {
	heap   [2]metrics.Sample
	before usage
	used   usage
}

func newMeter() meter {
	return meter{heap: [2]metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}}
}

// reset forgets what was used.
func (m *meter) reset() { m.used = usage{written: new(int64)} }

// start reads the counters, without stopping the world; the one that the other readings move most
// comes last.
func (m *meter) start() {
	m.before.written = bytesWritten()
	m.before.allocs, m.before.allocBytes = m.readHeap()
	m.before.cpu = cpuTime()
}

// stop reads them again, in the opposite order, and adds what was used since start.
func (m *meter) stop() {
	cpu := cpuTime()
	allocs, allocBytes := m.readHeap()
	written := bytesWritten()
	m.used.allocs += allocs - m.before.allocs
	m.used.allocBytes += allocBytes - m.before.allocBytes
	m.used.cpu += cpu - m.before.cpu
	if written == nil || m.before.written == nil || m.used.written == nil {
		m.used.written = nil
		return
	}
	*m.used.written += *written - *m.before.written
}

func (m *meter) readHeap() (objects, bytes uint64) {
	metrics.Read(m.heap[:])
	return m.heap[0].Value.Uint64(), m.heap[1].Value.Uint64()
}
