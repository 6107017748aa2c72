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

// A cache that is cleared at each closing makes an engine slow to verify, and tells nothing of what
// a crash leaves.
func TestVerifiersHaveASmallCacheWhereItIsCleared(t *testing.T) {
	for _, c := range []struct{ engine, given, want string }{
		{"badger", "", "BlockCacheSize=1048576"},
		{"badger", "SyncWrites=true", "BlockCacheSize=1048576&SyncWrites=true"},
		{"badger", "BlockCacheSize=0", "BlockCacheSize=0"},
		{"bbolt", "PageSize=1024", "PageSize=1024"},
	} {
		if got := verifiers(c.engine, c.given); got != c.want {
			t.Errorf("%s with %q: got %q, want %q", c.engine, c.given, got, c.want)
		}
	}
}
