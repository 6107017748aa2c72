package prove

import (
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

func TestSyncedEnginesKeepEverythingWhenKilled(t *testing.T) {
	for _, engine := range []string{"bbolt", "pebble", "badger", "bunt", "sqlite", "sqlite:?journal_mode=DELETE"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			for _, c := range prove(t, options(t, engine, kv.Synced, result.FaultKill)) {
				if c.Keeps.Verdict != result.Proved || c.Whole.Verdict != result.Proved || c.Images == 0 || !c.Keeps.Claimed {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

func TestPebbleWithoutSyncLosesAcknowledgedWritesWhenKilled(t *testing.T) {
	t.Parallel()
	c := prove(t, options(t, "pebble", kv.Buffered, result.FaultKill))[0]
	if c.Keeps.Verdict != result.Disproved || c.Keeps.Claimed || c.Lost == 0 || c.Whole.Verdict != result.Proved {
		t.Errorf("%+v", c)
	}
}
