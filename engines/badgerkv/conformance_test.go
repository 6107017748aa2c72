package badgerkv_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/badgerkv"
	"github.com/assaydb/assay/kv/drivertest"
)

func TestConformance(t *testing.T) { drivertest.Run(t, drivertest.Config{Engine: "badger"}) }

// A small memory table and threshold make tables on disk and the value log part of every case.
func TestConformanceOfSmallTables(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "badger",
		Params: "MemTableSize=1048576&ValueThreshold=32&ValueLogFileSize=2097152&Compression=zstd&BlockCacheSize=1048576"})
}
