package workload

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/assaydb/assay/engines/pebblekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
)

// BenchmarkOwnBesideBuiltIn measures the core workloads of YCSB in a file, "kv", beside those that
// are built in, "raw", on one engine: they do the same, and must take the same time.
func BenchmarkOwnBesideBuiltIn(b *testing.B) {
	text, err := os.ReadFile(filepath.Join(examples, "ycsb-core.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	own, _, err := Own("ycsb-core", text)
	if err != nil {
		b.Fatal(err)
	}
	for _, engine := range []string{"bbolt", "pebble"} {
		b.Run(engine, func(b *testing.B) {
			var pairs []drivertest.Pair
			for _, op := range own.Ops {
				builtIn, _ := ycsb.Op(op.Name)
				pairs = append(pairs, drivertest.Pair{Name: op.Name, Limit: 1, Raw: sliceOf(b, builtIn, engine),
					KV: sliceOf(b, op, engine)})
			}
			drivertest.Thin(b, pairs...)
		})
	}
}

// sliceOf returns what does n iterations of an operation on a store of its own.
func sliceOf(b *testing.B, op Op, engine string) func(n int) error {
	r, err := op.New(Env{Dir: b.TempDir(), Engine: engine, Durability: kv.Flushed, Seed: 7})
	if err == nil {
		err = r.Setup(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close() })
	ctx := context.Background()
	return func(n int) error {
		if err := r.Prepare(n); err != nil {
			return err
		}
		for i := range n {
			if err := r.Do(ctx, 0, i); err != nil {
				return err
			}
		}
		return nil
	}
}
