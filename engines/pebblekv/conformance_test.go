package pebblekv_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/pebblekv"
	"github.com/assaydb/assay/kv/drivertest"
)

func TestConformance(t *testing.T) { drivertest.Run(t, drivertest.Config{Engine: "pebble"}) }

// Small memory tables make tables on disk, compactions and large batches part of every case.
func TestConformanceOfSmallTables(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "pebble",
		Params: "MemTableSize=65536&LBaseMaxBytes=65536&Compression=zstd&CompactionConcurrencyRange=1,4"})
}

func TestConformanceOfThePlainForm(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "pebble", Params: "Fence=false"})
}
