package memkv_test

import (
	"testing"

	"github.com/assaydb/assay/kv/drivertest"
	_ "github.com/assaydb/assay/kv/memkv"
)

func TestConformance(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "mem"})
}
