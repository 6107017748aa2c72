package sqltable_test

import (
	"testing"

	"github.com/assaydb/assay/kv/drivertest"
)

// TestConformance: a table of keys and values is a store as any other.
func TestConformance(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "sqltable", Params: "tables=kv(k):v"})
}
