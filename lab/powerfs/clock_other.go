//go:build !linux

package powerfs

import "time"

var epoch = time.Now()

// monotonicNow is of this process alone: on such a system no other process can work on the disk.
func monotonicNow() int64 { return int64(time.Since(epoch)) }
