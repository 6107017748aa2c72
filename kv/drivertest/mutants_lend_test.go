//go:build !kvdebug

package drivertest

var shared [64]byte // a cursor's buffer that should be its own

// lendMutants lend bytes for too short a time.
var lendMutants = []*mutant{
	{name: "shared-cursor-buffer", caught: "two scans may run inside each other", hooks: hooks{
		next: func(k, v []byte) (key, value []byte) { return shared[:copy(shared[:], k)], v }}},
}
