package prove

import (
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

func TestSyncedEnginesKeepEverythingWhenKilled(t *testing.T) {
	engines := []string{"bbolt", "pebble", "badger", "bunt", "sqlite", "sqlite:?journal_mode=DELETE"}
	if testing.Short() {
		engines = []string{"bbolt", "pebble", "sqlite"}
	}
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			for _, c := range prove(t, options(t, engine, kv.Synced, result.FaultKill)) {
				if c.Keeps.Verdict != result.Proved || c.Whole.Verdict != result.Proved || c.Images == 0 ||
					!c.Keeps.Claimed {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

func TestPebbleWithoutSyncLosesAcknowledgedWritesWhenKilled(t *testing.T) {
	t.Parallel()
	o := options(t, "pebble", kv.Buffered, result.FaultKill)
	o.Rounds = 3
	c := proveUntil(t, o, func(c result.ProofCell) bool { return c.Lost > 0 })
	if c.Keeps.Verdict != result.Disproved || c.Keeps.Claimed || c.Lost == 0 || c.Whole.Verdict != result.Proved {
		t.Errorf("%+v", c)
	}
}
