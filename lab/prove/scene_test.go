package prove

import (
	"testing"

	_ "github.com/assaydb/assay/engines/levelkv"
	"github.com/assaydb/assay/kv/driver"
)

// An option that an engine does not have any more would leave its files large, and what happens to
// full ones untried.
func TestEveryEngineHasSmallOptions(t *testing.T) {
	for _, engine := range []string{"badger", "bbolt", "bunt", "leveldb", "pebble", "sqlite"} {
		if _, ok := driver.Lookup(engine); !ok {
			t.Fatalf("%s is not in this binary", engine)
		}
		if got := smaller(engine, "", false); got == "" {
			t.Errorf("%s: none of the sets of small options is its own", engine)
		}
	}
}
