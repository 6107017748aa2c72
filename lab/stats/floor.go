package stats

import (
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// diskFloor returns what the disk itself needs for an operation such as c's, in nanoseconds:
//
//   - a commit that survives power loss needs at least one append and its sync;
//   - an operation of the workload hook opens and closes the store too, save where a handle is shared;
//   - everything else may stay in memory, and has no floor.
//
// Operations that read in some iterations and commit in others, or that start a process, have none either. Where several
// workers commit at the same time they may share a sync, so that a multiple below 1 is possible.
func diskFloor(c result.Cell, f result.Floor) (ns float64, ok bool) {
	if mixed(c) {
		return 0, false
	}
	if c.Workload == "hook" && !strings.Contains(c.Operation, "shared") {
		if f.OpenClose == nil {
			return 0, false
		}
		ns, ok = f.OpenClose.Mid, true
	}
	if c.Promise.Delivered == "synced" {
		if f.AppendSync == nil {
			return 0, false
		}
		ns, ok = ns+f.AppendSync.Mid, true
	}
	return ns, ok
}

// mixed reports whether the iterations of an operation differ in kind: the mixes A to F of ycsb, and the sessions and
// processes of hook.
func mixed(c result.Cell) bool {
	switch c.Workload {
	case "ycsb":
		return len(c.Operation) == 1
	case "hook":
		return c.Operation == "session" || strings.HasPrefix(c.Operation, "processes")
	}
	return false
}
