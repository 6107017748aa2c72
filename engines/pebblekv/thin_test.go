package pebblekv_test

import (
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/engines/pebblekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
)

// BenchmarkThin measures kv against Pebble's own API, with Pebble's NoSync and kv's Buffered. Both
// work on one store: how fast a table in memory is found through differs by luck from one store to
// the next, by more than kv costs.
func BenchmarkThin(b *testing.B) {
	db, err := pebblekv.Open(b.Context(), filepath.Join(b.TempDir(), "db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	h, _ := pebblekv.Handle(db)
	layer := drivertest.NewThinKV(b, db, kv.Buffered)
	raw := rawSide{ThinSide: drivertest.NewThinSide(), db: h}
	drivertest.Thin(b,
		drivertest.Pair{Name: "get", Limit: 1.05, Raw: raw.get, KV: layer.Get},
		drivertest.Pair{Name: "view+get", Limit: 1.05, Raw: raw.viewGet, KV: layer.ViewGet,
			Exception: "a View counts itself for Close, and has a handle that is never used again: 60 ns"},
		drivertest.Pair{Name: "get-alone", Limit: 1.05, Raw: raw.getAlone, KV: layer.GetAlone,
			Exception: "a call counts itself for Close, and looks at the context: 40 ns"},
		drivertest.Pair{Name: "scan20", Limit: 1.05, Raw: raw.scan, KV: layer.Scan},
		drivertest.Pair{Name: "scan1000", Limit: 1.05, Raw: raw.Long(raw.scan), KV: layer.Long(layer.Scan),
			Exception: "each pair goes through the driver's cursor and kv's loop: 5 ns"},
		drivertest.Pair{Name: "put", Limit: 1.05, Raw: raw.put, KV: layer.PutAlone,
			Exception: "a put takes its turn among writers and asks the fence twice; " +
				"its atomic operations wait for Pebble's stores"},
		drivertest.Pair{Name: "update", Limit: 1.05, Raw: raw.update, KV: layer.Put},
		drivertest.Pair{Name: "batch100", Limit: 1.05, Raw: raw.batch, KV: layer.Batch},
	)
}

// BenchmarkFence measures what the fence costs: as "raw" stands a store without it, as "kv" one
// with it.
func BenchmarkFence(b *testing.B) {
	var pairs []drivertest.Pair
	for _, d := range []kv.Durability{kv.Synced, kv.Buffered} {
		var sides [2]*drivertest.ThinSide
		for i, fence := range []string{"false", "true"} {
			db, err := kv.Open(b.Context(), "pebble:"+filepath.Join(b.TempDir(), "db")+"?Fence="+fence)
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			sides[i] = drivertest.NewThinKV(b, db, d)
		}
		pairs = append(pairs, drivertest.Pair{Name: "put-" + d.String(), Raw: sides[0].Put, KV: sides[1].Put},
			drivertest.Pair{Name: "batch100-" + d.String(), Raw: sides[0].Batch, KV: sides[1].Batch})
	}
	drivertest.Thin(b, pairs...)
}

// rawSide does the work through Pebble's API, as its documentation shows it.
type rawSide struct {
	*drivertest.ThinSide
	db  *pebble.DB
	buf []byte
}

func (s *rawSide) get(n int) error {
	snapshot := s.db.NewSnapshot()
	for range n {
		v, closer, err := snapshot.Get(s.Key())
		if err != nil {
			return err
		}
		s.buf = append(s.buf[:0], v...)
		if err := closer.Close(); err != nil {
			return err
		}
	}
	return snapshot.Close()
}

func (s *rawSide) getAlone(n int) error {
	for range n {
		v, closer, err := s.db.Get(s.Key())
		if err != nil {
			return err
		}
		s.buf = append(s.buf[:0], v...)
		if err := closer.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) viewGet(n int) error {
	for range n {
		if err := s.get(1); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) scan(n int) error {
	snapshot := s.db.NewSnapshot()
	for range n {
		it, err := snapshot.NewIter(&pebble.IterOptions{LowerBound: s.Start()})
		if err != nil {
			return err
		}
		left := s.Pairs
		for ok := it.First(); ok; ok = it.Next() {
			s.Touch(it.Key(), it.Value())
			if left--; left == 0 {
				break
			}
		}
		if err := it.Close(); err != nil {
			return err
		}
	}
	return snapshot.Close()
}

// update is a transaction with one write, able to read what it writes.
func (s *rawSide) update(n int) error {
	for range n {
		b := s.db.NewIndexedBatch()
		if err := b.Set(s.Key(), s.Value(), nil); err != nil {
			return err
		}
		if err := b.Commit(pebble.NoSync); err != nil {
			return err
		}
		if err := b.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) put(n int) error {
	for range n {
		if err := s.db.Set(s.Key(), s.Value(), pebble.NoSync); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) batch(n int) error {
	for range n {
		b := s.db.NewBatch()
		for range drivertest.ThinBatch {
			if err := b.Set(s.Key(), s.Value(), nil); err != nil {
				return err
			}
		}
		if err := b.Commit(pebble.NoSync); err != nil {
			return err
		}
		if err := b.Close(); err != nil {
			return err
		}
	}
	return nil
}
