package duckdbkv_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/transfer/transfertest"
)

func TestCopiesFromAndToOtherEngines(t *testing.T) {
	others := []string{"bbolt", "sqlite"}
	transfertest.EveryPair(t, []string{"duckdb"}, append(others, "duckdb"))
	transfertest.EveryPair(t, others, []string{"duckdb"})
}
