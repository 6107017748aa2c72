package prove

import (
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// needsPower skips a test, loudly, where power cannot fail.
func needsPower(t *testing.T) {
	t.Helper()
	if err := powerfs.Available(); err != nil {
		t.Skipf("SKIPPED, nothing was shown: %v", err)
	}
}

func TestPowerBbolt(t *testing.T) {
	needsPower(t)
	prove(t, options(t, "bbolt", kv.Synced, result.FaultPower))
}
