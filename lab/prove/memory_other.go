//go:build !linux

package prove

import "runtime/metrics"

// resident returns how much memory the process has asked for, in bytes.
func resident() (bytes uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
