package nullkv_test

import (
	"context"
	"errors"
	"testing"

	"github.com/assaydb/assay/kv"
)

// BenchmarkThin measures what kv itself costs, as the engine costs nothing.
func BenchmarkThin(b *testing.B) {
	ctx := context.Background()
	db, err := kv.Open(ctx, "null:")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	key, value := []byte("key"), []byte("value")
	var batch kv.Batch
	for range 100 {
		batch.Put(key, value)
	}
	var buf []byte
	get := func(s *kv.Snapshot) error {
		buf, _ = s.Append(buf[:0], key) // always NotFound
		return nil
	}
	scan := func(s *kv.Snapshot) error {
		for range s.Scan(kv.Range{Start: key}) {
		}
		return nil
	}
	within := func(op func(*kv.Snapshot) error) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			if err := db.View(ctx, func(s *kv.Snapshot) (err error) {
				for b.Loop() {
					err = errors.Join(err, op(s))
				}
				return err
			}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("get", within(get))
	b.Run("scan", within(scan))
	put := func(tx *kv.Tx) error { return tx.Put(key, value) }
	for _, c := range []struct {
		name string
		op   func() error
	}{
		{"view+get", func() error { return db.View(ctx, get) }},
		{"view+scan", func() error { return db.View(ctx, scan) }},
		{"get-alone", func() error { buf, _ = db.Append(ctx, buf[:0], key); return nil }},
		{"put-alone", func() error { return db.Put(ctx, kv.Synced, key, value) }},
		{"put", func() error { return db.Update(ctx, kv.Synced, put) }},
		{"batch100", func() error { return db.Write(ctx, kv.Synced, &batch) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.op(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
