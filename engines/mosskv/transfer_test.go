package mosskv_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	"github.com/assaydb/assay/transfer/transfertest"
)

func TestCopiesFromAndToOtherEngines(t *testing.T) {
	others := []string{"bbolt", "pebble"}
	transfertest.EveryPair(t, []string{"moss"}, append(others, "moss"))
	transfertest.EveryPair(t, others, []string{"moss"})
}
