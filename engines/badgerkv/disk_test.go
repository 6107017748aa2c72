package badgerkv_test

import (
	"testing"

	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/lab/powertest"
)

func TestOnADiskThatFails(t *testing.T) {
	drivertest.RunOnDisk(t, drivertest.Config{Engine: "badger"}, powertest.NewDisk(t, nil))
}

// Badger keeps larger values in files apart, and logs a failed sync of these.
func TestLargeValuesOnADiskThatFails(t *testing.T) {
	drivertest.RunOnDisk(t, drivertest.Config{Engine: "badger", Params: "ValueThreshold=256"}, powertest.NewDisk(t, nil))
}
