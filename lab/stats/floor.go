package stats

import (
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// diskFloor returns what the disk itself needs at least for an operation such as c's, in
// nanoseconds:
//
//   - a commit that survives power loss needs a write and its sync, at the end of a file or in
//     place, whichever is faster here;
//   - an operation of the workload hook opens and closes the store too, save where a handle is
//     shared;
//   - everything else may stay in memory, and has no floor.
//
// Operations that read in some iterations and commit in others, or that start a process, have none
// either, and those of several workers, who may share a sync.
func diskFloor(c result.Cell, f result.Floor) (ns float64, ok bool) {
	if mixed(c) || c.Workers > 1 {
		return 0, false
	}
	if Opens(c) {
		if f.OpenClose == nil {
			return 0, false
		}
		ns, ok = f.OpenClose.Mid, true
	}
	if c.Promise.Delivered == "synced" {
		if f.AppendSync == nil || f.OverwriteSync == nil {
			return 0, false
		}
		ns, ok = ns+min(f.AppendSync.Mid, f.OverwriteSync.Mid), true
	}
	return ns, ok
}

// Opens reports whether an operation opens and closes its store.
func Opens(c result.Cell) bool {
	return c.Workload == "hook" && !strings.Contains(c.Operation, "shared")
}

// mixed reports whether the iterations of an operation differ in kind, as those of a mix, and of
// the sessions and processes of hook. Runs that were kept before they told the cycle are known by
// name.
func mixed(c result.Cell) bool {
	if c.Cycle > 1 {
		return true
	}
	switch c.Workload {
	case "ycsb":
		return len(c.Operation) == 1
	case "hook":
		return c.Operation == "session" || strings.HasPrefix(c.Operation, "processes")
	}
	return false
}
