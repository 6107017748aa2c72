package live_test

import (
	"testing"

	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/transfer/live"
)

func TestConformance(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: live.Engine, Params: "old=bbolt&new=pebble"})
}

// TestConformanceFlipped flips each store when it is opened the first time.
func TestConformanceFlipped(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: live.Engine, Params: "old=bunt&new=sqlite&phase=flipped"})
}

func TestOnADiskThatFails(t *testing.T) {
	drivertest.RunOnDisk(t, drivertest.Config{Engine: live.Engine, Params: "old=bbolt&new=pebble"},
		powertest.NewDisk(t, nil))
}
