package postgreskv_test

import (
	"testing"

	"github.com/assaydb/assay/kv/drivertest"
)

func TestConformance(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "postgres", Params: params(t)})
}
