package prove

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// What was committed to memory may be lost by a log that cannot be written. A backup that is made
// when the store was opened again cannot hold it, and breaks nothing.
func TestABackupOfAStoreThatHadLostCommits(t *testing.T) {
	l, task := laneOfClass(t, "pebble", kv.Buffered, result.FaultENOSPC)
	s := task.fitted(scene{writers: 1, legs: []leg{{"", 6}, {reopen, 2}, {backup, 1}}})
	c, short := task.newCell(result.FaultENOSPC, ""), 0
	for nth := uint64(1); nth <= 8; nth++ {
		rec, err := l.record(t.Context(), task, s, 7, run{options: powerfs.Options{Faults: []powerfs.Fault{
			{Op: powerfs.OnWrite, Nth: nth, Err: syscall.ENOSPC, Match: "*.log"}}}})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(rec.ledger.copies, func(b copied) bool { return b.Short }) {
			short++
		}
		x := newExplorer(rec, len(rec.steps), "end")
		x.cells = func(powerfs.Rule) *cell { return c }
		x.states = func(*powerfs.Player, *rand.Rand) []powerfs.State {
			return []powerfs.State{powerfs.Random(everything, 0)}
		}
		if _, err := l.explore(t.Context(), task, x, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if short == 0 {
		t.Error("no store had lost commits before its backup: the test shows nothing")
	}
	if c.States == 0 || c.whole.failed > 0 {
		t.Errorf("of %d states %d are not whole: %s", c.States, c.whole.failed, c.What)
	}
}
