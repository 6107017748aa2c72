package sqlitekv_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv/drivertest"
)

func TestConformanceWAL(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "sqlite"})
}

func TestConformanceDelete(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "sqlite", Params: "journal_mode=DELETE"})
}
