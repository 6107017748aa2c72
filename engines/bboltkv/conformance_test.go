package bboltkv_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv/drivertest"
)

func TestConformance(t *testing.T) { drivertest.Run(t, drivertest.Config{Engine: "bbolt"}) }

// NoFreelistSync is tested by itself: a damaged file that was written with it may crash bbolt, as
// the package says.
func TestConformanceOfOptions(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "bbolt", Params: "FreelistType=hashmap&PageSize=1024&FillPercent=1"})
}
