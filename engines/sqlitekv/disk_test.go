package sqlitekv_test

import (
	"testing"

	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/lab/powertest"
)

func TestOnADiskThatFails(t *testing.T) {
	drivertest.RunOnDisk(t, drivertest.Config{Engine: "sqlite"}, powertest.NewDisk(t, nil))
}

func TestOnADiskThatFailsDelete(t *testing.T) {
	drivertest.RunOnDisk(t, drivertest.Config{Engine: "sqlite", Params: "journal_mode=DELETE"},
		powertest.NewDisk(t, nil))
}
