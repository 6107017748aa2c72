package prove

import (
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

// TestPlantedFaultsAreFound runs engines with one fault each. That the proof is silent about the
// engine that they are made of shows TestSyncedEnginesKeepEverythingWhenKilled.
//
// Faults planted in this package itself are found too: acknowledgements after the cut that count
// (TestAcknowledgementAfterThePowerFailedPromisesNothing), no look at the order across writers
// (TestStateThatIsNoPrefixAcrossWritersIsBroken), keys of nobody or torn transactions that pass
// (TestCompareFindsWhatTheStoreHolds), one salt for all generations (every test that kills), a
// control that is always satisfied (TestControlsFindADiskThatDoesNotLosePower), a cut that never
// comes (TestEveryOperationHasItsTurn).
func TestPlantedFaultsAreFound(t *testing.T) {
	for _, c := range []struct {
		engine, why string
		keeps       string // verdicts; "" is any
		whole       string
		what        string
	}{
		{engine: "forgetful", why: "commits are acknowledged that are in memory", keeps: result.Disproved},
		{engine: "halving", why: "a transaction is committed as two", whole: result.Disproved, what: "in part"},
		{engine: "reviving", why: "deleted records stay", whole: result.Disproved, what: "is back"},
		{engine: "stale", why: "old values come back after a recovery", whole: result.Disproved},
		{engine: "reordering", why: "a commit waits for a later one", whole: result.Disproved},
		{engine: "panicking", why: "it panics at opening", keeps: result.Disproved, whole: result.Disproved,
			what: "panic: planted panic"},
		{engine: "hanging", why: "it hangs at opening", keeps: result.Unproved, whole: result.Unproved},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			o := options(t, c.engine, kv.Flushed, result.FaultKill)
			if o.Rounds = 5; testing.Short() { // it is tried again until it is seen
				o.Rounds = 2
			}
			if c.engine == "hanging" {
				o.Rounds, o.Hang = 1, 3*time.Second
			}
			cell := proveUntil(t, o, func(cell result.ProofCell) bool {
				return (c.keeps == "" || cell.Keeps.Verdict == c.keeps) &&
					(c.whole == "" || cell.Whole.Verdict == c.whole)
			})
			if c.keeps != "" && cell.Keeps.Verdict != c.keeps {
				t.Errorf("keeps: %s, want %s", cell.Keeps.Verdict, c.keeps)
			}
			if c.whole != "" && cell.Whole.Verdict != c.whole {
				t.Errorf("whole: %s, want %s", cell.Whole.Verdict, c.whole)
			}
			if !strings.Contains(cell.What, c.what) {
				t.Errorf("what: %q, want %q in it", cell.What, c.what)
			}
			if hung := c.engine == "hanging"; hung != (cell.Late > 0) || hung &&
				cell.Broken+cell.Torn+int(cell.Lost) > 0 {
				t.Errorf("%d were late, %d broken, %d torn, %d commits lost", cell.Late, cell.Broken, cell.Torn,
					cell.Lost)
			}
			for _, f := range []result.Finding{cell.Keeps, cell.Whole} {
				if f.Verdict == result.Disproved && (f.Command == "" || f.Failed == 0) {
					t.Errorf("disproved without a command: %+v", f)
				}
			}
		})
	}
}
