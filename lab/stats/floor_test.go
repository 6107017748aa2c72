package stats

import (
	"testing"

	"github.com/assaydb/assay/lab/result"
)

func TestFloorIsWhatTheDiskNeeds(t *testing.T) {
	disk := result.Floor{AppendSync: &result.Interval{Mid: 100}, OverwriteSync: &result.Interval{Mid: 80},
		OpenClose: &result.Interval{Mid: 10}}
	for _, c := range []struct {
		name, workload, operation, delivered string
		want                                 float64 // 0: none
	}{
		{"a synced commit writes and syncs, in place or at the end", "events", "append1", "synced", 80},
		{"a commit that is not synced may stay in memory", "events", "append1", "flushed", 0},
		{"a read may stay in memory", "events", "read100", "read", 0},
		{"a hook that reads opens and closes", "hook", "get", "read", 10},
		{"a hook that commits does both", "hook", "put", "synced", 90},
		{"a shared handle is open", "hook", "get_shared_14", "read", 0},
		{"a session reads and commits", "hook", "session", "synced", 0},
		{"a process has to be started", "hook", "processes_4", "synced", 0},
		{"a mix reads and commits", "ycsb", "A", "synced", 0},
		{"a load commits", "ycsb", "fillseq", "synced", 80},
	} {
		got, ok := diskFloor(result.Cell{Workload: c.workload, Operation: c.operation,
			Promise: result.Promise{Delivered: c.delivered}}, disk)
		if got != c.want || ok != (c.want > 0) {
			t.Errorf("%s: got %g, %v; want %g", c.name, got, ok, c.want)
		}
	}
	shared := cell("append_parallel", "bbolt", nil)
	shared.Workers = 8
	if _, ok := diskFloor(shared, disk); ok {
		t.Error("workers who may share a sync have a floor of one each")
	}
	mix := cell("mix", "bbolt", nil) // ycsb?update=5, or what a file or a program of one's own mixes
	mix.Workload, mix.Cycle = "ycsb", 20
	if ns, ok := diskFloor(mix, disk); ok {
		t.Errorf("a mix of which one in 20 commits needs a sync each time, %g", ns)
	}
	if _, ok := diskFloor(cell("append1", "bbolt", nil), result.Floor{}); ok {
		t.Error("a disk that was not measured has a floor")
	}
}
