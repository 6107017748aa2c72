package buntkv_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/buntkv"
	"github.com/assaydb/assay/kv/drivertest"
)

func TestConformance(t *testing.T) { drivertest.Run(t, drivertest.Config{Engine: "bunt"}) }

func TestConformanceOfOptions(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "bunt",
		Params: "SyncPolicy=Always&AutoShrinkMinSize=1000&AutoShrinkPercentage=10"})
}

// The plain form may leave transactions torn by a kill, and says so: those cases are skipped.
func TestConformanceOfThePlainForm(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "bunt", Params: "Frames=false"})
}
