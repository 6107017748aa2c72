//go:build !linux

package prove

import "time"

// clock returns a time in ns that all processes share: power fails on Linux only, so that nothing
// depends on its being monotonic here but the ages of lost commits.
func clock() int64 { return time.Now().UnixNano() }
