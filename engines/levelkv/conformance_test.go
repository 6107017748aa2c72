package levelkv_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/levelkv"
	"github.com/assaydb/assay/kv/drivertest"
)

func TestConformance(t *testing.T) { drivertest.Run(t, drivertest.Config{Engine: "leveldb"}) }

// Small buffers make tables on disk, compactions and commits that bypass the journal part of every
// case.
func TestConformanceOfSmallTables(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "leveldb",
		Params: "WriteBuffer=8192&CompactionTableSize=16384&CompactionTotalSize=65536&Compression=none"})
}
