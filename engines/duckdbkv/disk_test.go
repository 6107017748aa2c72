package duckdbkv_test

import (
	"testing"

	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/lab/powertest"
)

func TestOnADiskThatFails(t *testing.T) {
	drivertest.RunOnDisk(t, drivertest.Config{Engine: "duckdb"}, powertest.NewDisk(t, nil))
}
