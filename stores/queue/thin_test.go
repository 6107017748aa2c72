package queue_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
)

// BenchmarkThin measures a job's cycle, published, claimed and acknowledged one after the other,
// against three commits of one pair of 256 bytes: a program that calls one after the other cannot
// have a cycle for less.
func BenchmarkThin(b *testing.B) {
	var pairs []drivertest.Pair
	for _, engine := range []string{"bbolt", "bunt", "leveldb", "sqlite"} {
		q, class := benchQueue(b, engine)
		db, err := kv.Open(b.Context(), engine+":"+filepath.Join(b.TempDir(), "raw"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { db.Close() })
		ctx, value := context.Background(), make([]byte, 256)
		pairs = append(pairs, drivertest.Pair{Name: "cycle-" + engine, Limit: 1.5,
			Exception: "a publish writes the job and what is known of the queue, which is two pairs",
			Raw: func(n int) error {
				for i := range 3 * n {
					value[0]++
					if err := db.Put(ctx, class, kv.AppendUint64(nil, uint64(i%3)), value); err != nil {
						return err
					}
				}
				return nil
			},
			KV: func(n int) error {
				for range n {
					cycle(b, ctx, q, class, value)
				}
				return nil
			}})
	}
	drivertest.Thin(b, pairs...)
}
