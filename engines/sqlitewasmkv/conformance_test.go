package sqlitewasmkv_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/sqlitewasmkv"
	"github.com/assaydb/assay/kv/drivertest"
)

func TestConformanceWAL(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "sqlite-wasm"})
}

func TestConformanceDelete(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "sqlite-wasm", Params: "journal_mode=DELETE"})
}
