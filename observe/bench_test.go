package observe_test

import (
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/engines/pebblekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/observe"
)

// BenchmarkObserve measures what an observer costs, on Pebble with Buffered commits, where an
// operation is shortest: as "raw" stands kv without a tracer, as "kv" with an observer. Both have
// the same Pebble database.
func BenchmarkObserve(b *testing.B) {
	for _, c := range []struct {
		name    string
		options observe.Options
	}{
		{"default", observe.Options{}},
		{"without a list", observe.Options{Long: -1}},
		{"with stacks", observe.Options{Where: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			db, err := pebblekv.Open(b.Context(), filepath.Join(b.TempDir(), "db"), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			h, _ := pebblekv.Handle(db)
			o := observe.New(&c.options)
			defer o.Close()
			observed, err := pebblekv.Wrap(h, kv.WithTracer(o))
			if err != nil {
				b.Fatal(err)
			}
			defer observed.Close()
			plain, err := pebblekv.Wrap(h)
			if err != nil {
				b.Fatal(err)
			}
			defer plain.Close()
			off, on := drivertest.NewThinKV(b, plain, kv.Buffered), drivertest.NewThinKV(b, observed, kv.Buffered)
			drivertest.Thin(b,
				drivertest.Pair{Name: "put", Limit: 1.05, Raw: off.PutAlone, KV: on.PutAlone},
				drivertest.Pair{Name: "batch100", Limit: 1.05, Raw: off.Batch, KV: on.Batch},
				drivertest.Pair{Name: "update", Raw: off.Put, KV: on.Put},
				drivertest.Pair{Name: "view+get", Raw: off.ViewGet, KV: on.ViewGet},
				drivertest.Pair{Name: "get", Raw: off.Get, KV: on.Get},
				drivertest.Pair{Name: "scan20", Raw: off.Scan, KV: on.Scan},
			)
		})
	}
}
