package workload_test

import (
	"slices"
	"testing"

	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/workload"
)

// TestEveryFormIsExplained holds the forms that a workload lists against those in which its
// operations run on engines.
func TestEveryFormIsExplained(t *testing.T) {
	_, cgo := driver.Lookup("sqlite-c")
	for _, w := range workload.All() {
		var run, listed []string
		for _, op := range w.Ops {
			if op.Forms == nil {
				run = append(run, "kv")
				continue
			}
			for _, engine := range []string{"bbolt", "pebble", "sqlite", "sqlite-c", "margaret"} {
				run = append(run, op.Forms(engine, "")...)
			}
		}
		for _, f := range w.Forms {
			if f.Name == "published-sqldriver" && !cgo {
				continue // it is on SQLite in C alone
			}
			listed = append(listed, f.Name)
			if f.Summary == "" {
				t.Errorf("%s: form %s has no summary", w.Name, f.Name)
			}
		}
		slices.Sort(run)
		slices.Sort(listed)
		if got := slices.Compact(run); !slices.Equal(got, listed) {
			t.Errorf("%s: operations run in the forms %q, listed are %q", w.Name, got, listed)
		}
	}
}
