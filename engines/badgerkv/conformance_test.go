package badgerkv_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/badgerkv"
	"github.com/assaydb/assay/kv/drivertest"
)

// Under -short small tables have all cases: their files are made in half the time.
func TestConformance(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "badger", Short: drivertest.General})
}

// A small memory table and threshold make tables on disk and the value log part of every case.
const smallTables = "MemTableSize=1048576&ValueThreshold=32&ValueLogFileSize=2097152&Compression=zstd&BlockCacheSize=1048576"

func TestConformanceOfSmallTables(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "badger", Short: drivertest.All, Params: smallTables})
}
