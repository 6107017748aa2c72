//go:build cgo

package sqliteckv_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/sqliteckv"
	"github.com/assaydb/assay/kv/drivertest"
)

func TestConformanceWAL(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "sqlite-c"})
}

func TestConformanceDelete(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "sqlite-c", Params: "journal_mode=DELETE"})
}
