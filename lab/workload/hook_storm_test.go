package workload_test

import (
	"errors"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
)

func TestAStormPutsOneKeyPerProcess(t *testing.T) {
	for _, store := range []struct{ engine, form string }{
		{"bbolt", "kv"}, {"bbolt", "state"}, {"sqlite", "kv"}, {"sqlite", "state"}, {"sqlite", "sql"},
	} {
		t.Run(store.engine+"/"+store.form, func(t *testing.T) {
			if testing.Short() && (store.form == "kv") != (store.engine == "bbolt") {
				t.Skip("each form is tried once: without -short")
			}
			t.Parallel()
			c := newHookCell(t, "storm", workload.Env{Engine: store.engine, Form: store.form, Durability: kv.Flushed,
				Seed:   7,
				Params: map[string]string{"n": "6", "keys": "4"}})
			slices, storms := 2, 2
			if testing.Short() {
				slices, storms = 1, 1
			}
			for range slices {
				if err := errors.Join(c.do(t.Context(), storms), c.Verify(t.Context())); err != nil {
					t.Fatal(err)
				}
				if m := metrics(t, c.Runner); m["cpu-p50-ns"] <= 0 || m["lock-wait-p99-ns"] <= 0 {
					t.Errorf("metrics %v", m)
				}
			}
			if size, err := c.Size(); err != nil || size.Allocated == 0 {
				t.Errorf("size %+v, %v", size, err)
			}
			if p := c.Describe().Promise; !p.Supported {
				t.Errorf("promise %+v", p)
			}
		})
	}
}
