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
				raw, own := inStep(sliceOf(b, builtIn, engine), sliceOf(b, op, engine))
				pairs = append(pairs, drivertest.Pair{Name: op.Name, Limit: equivalent, Raw: raw, KV: own})
			}
			drivertest.Thin(b, pairs...)
		})
	}
}

// equivalent is what a ratio is below, with its interval, of what counts as equivalent in a run.
const equivalent = 1.1

// inStep returns two sides that do the same steps in each of their turns: who has done fewer before
// does the rest first. Scans differ in length more than the sides do.
func inStep(a, b func(n int) error) (x, y func(n int) error) {
	var done [2]int
	side := func(i int, do func(n int) error) func(n int) error {
		return func(n int) error {
			if behind := done[1-i] - n - done[i]; behind > 0 {
				done[i] += behind
				if err := do(behind); err != nil {
					return err
				}
			}
			done[i] += n
			return do(n)
		}
	}
	return side(0, a), side(1, b)
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
