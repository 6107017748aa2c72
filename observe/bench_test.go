package observe_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/engines/badgerkv"
	"github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/engines/levelkv"
	"github.com/assaydb/assay/engines/pebblekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/observe"
)

// BenchmarkObserve measures what an observer costs, with the commits that cost each engine least,
// where an operation is shortest; bbolt's are synced, as its handle is opened so. As "raw" stands
// kv without a tracer, as "kv" with an observer. Both have the same database. The pair "off" has a
// tracer on neither side: it is what is measured where nothing differs.
func BenchmarkObserve(b *testing.B) {
	b.Run("pebble", func(b *testing.B) { observed(b, pebble, &observe.Options{}) })
	b.Run("bbolt", func(b *testing.B) { observed(b, bbolt, &observe.Options{}) })
	b.Run("badger", func(b *testing.B) { observed(b, badger, &observe.Options{}) })
	b.Run("leveldb", func(b *testing.B) { observed(b, leveldb, &observe.Options{}) })
	b.Run("pebble without a list", func(b *testing.B) { observed(b, pebble, &observe.Options{Long: -1}) })
	b.Run("pebble with stacks", func(b *testing.B) { observed(b, pebble, &observe.Options{Where: true}) })
}

// again returns another store on the database of one that is open.
type again func(options ...kv.Option) (*kv.DB, error)

// opened is a new store of an engine.
type opened func(ctx context.Context, path string) (*kv.DB, again, error)

func observed(b *testing.B, open opened, options *observe.Options) {
	db, wrap, err := open(b.Context(), filepath.Join(b.TempDir(), "db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	o := observe.New(options)
	b.Cleanup(o.Close)
	side := func(options ...kv.Option) *drivertest.ThinSide {
		s, err := wrap(options...)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return drivertest.NewThinKV(b, s, s.Caps().Cheapest())
	}
	off, still, on := side(), side(kv.WithTracer(nil)), side(kv.WithTracer(o))
	drivertest.Thin(b,
		drivertest.Pair{Name: "off", Raw: off.PutAlone, KV: still.PutAlone},
		drivertest.Pair{Name: "put", Limit: 1.05, Raw: off.PutAlone, KV: on.PutAlone},
		drivertest.Pair{Name: "batch100", Limit: 1.05, Raw: off.Batch, KV: on.Batch},
		drivertest.Pair{Name: "update", Raw: off.Put, KV: on.Put},
		drivertest.Pair{Name: "view+get", Raw: off.ViewGet, KV: on.ViewGet},
		drivertest.Pair{Name: "get", Raw: off.Get, KV: on.Get},
		drivertest.Pair{Name: "scan20", Raw: off.Scan, KV: on.Scan},
	)
}

func pebble(ctx context.Context, path string) (*kv.DB, again, error) {
	db, err := pebblekv.Open(ctx, path, nil)
	return db, func(o ...kv.Option) (*kv.DB, error) { h, _ := pebblekv.Handle(db); return pebblekv.Wrap(h, o...) }, err
}

func bbolt(ctx context.Context, path string) (*kv.DB, again, error) {
	db, err := bboltkv.Open(ctx, path, nil)
	return db, func(o ...kv.Option) (*kv.DB, error) { h, _ := bboltkv.Handle(db); return bboltkv.Wrap(h, o...) }, err
}

func badger(ctx context.Context, path string) (*kv.DB, again, error) {
	db, err := badgerkv.Open(ctx, path, nil, kv.WithWeakest(kv.Flushed))
	return db, func(o ...kv.Option) (*kv.DB, error) { h, _ := badgerkv.Handle(db); return badgerkv.Wrap(h, o...) }, err
}

func leveldb(ctx context.Context, path string) (*kv.DB, again, error) {
	db, err := levelkv.Open(ctx, path, nil)
	return db, func(o ...kv.Option) (*kv.DB, error) { h, _ := levelkv.Handle(db); return levelkv.Wrap(h, o...) }, err
}
