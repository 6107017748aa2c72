package journal_test

import (
	"testing"

	_ "example.com/ownassay/journal"
	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/lab/powertest"
)

func TestConformance(t *testing.T) { drivertest.Run(t, drivertest.Config{Engine: "journal"}) }

// TestOnADiskThatFails needs Linux and root, and says so where it has neither.
func TestOnADiskThatFails(t *testing.T) {
	drivertest.RunOnDisk(t, drivertest.Config{Engine: "journal"}, powertest.NewDisk(t, nil))
}
