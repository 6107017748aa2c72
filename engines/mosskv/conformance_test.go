package mosskv_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/mosskv"
	"github.com/assaydb/assay/kv/drivertest"
)

func TestConformance(t *testing.T) { drivertest.Run(t, drivertest.Config{Engine: "moss"}) }
