package bench

import (
	"runtime/metrics"
	"time"
)

// usage is what this process has used since it started.
type usage struct {
	allocs, allocBytes uint64
	cpu                time.Duration
	written            *int64 // bytes sent to the device; nil where the system does not tell
}

// measureUsage reads the counters without stopping the world.
func measureUsage() usage {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	return usage{
		allocs:     samples[0].Value.Uint64(),
		allocBytes: samples[1].Value.Uint64(),
		cpu:        cpuTime(),
		written:    bytesWritten(),
	}
}

// since returns what was used after start.
func (u usage) since(start usage) usage {
	d := usage{allocs: u.allocs - start.allocs, allocBytes: u.allocBytes - start.allocBytes, cpu: u.cpu - start.cpu}
	if u.written != nil && start.written != nil {
		w := *u.written - *start.written
		d.written = &w
	}
	return d
}
