package badgerkv_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/engines/badgerkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
)

// BenchmarkThin measures kv against Badger's own API, without SyncWrites and with kv's Flushed.
// Both work on one store: how fast a table in memory is found through differs by luck from one
// store to the next, by more than kv costs. The store has Badger's DetectConflicts off, as one
// writer needs none, and both sides iterate without prefetching.
func BenchmarkThin(b *testing.B) {
	db, err := badgerkv.Open(b.Context(), filepath.Join(b.TempDir(), "db"), nil, kv.WithWeakest(kv.Flushed))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	h, _ := badgerkv.Handle(db)
	layer := drivertest.NewThinKV(b, db, kv.Flushed)
	raw := rawSide{ThinSide: drivertest.NewThinSide(), db: h}
	drivertest.Thin(b,
		drivertest.Pair{Name: "get", Limit: 1.05, Raw: raw.get, KV: layer.Get},
		drivertest.Pair{Name: "view+get", Limit: 1.05, Raw: raw.viewGet, KV: layer.ViewGet,
			Exception: "a View counts itself for Close, and has a handle that is never used again: 45 ns"},
		drivertest.Pair{Name: "get-alone", Limit: 1.05, Raw: raw.viewGet, KV: layer.GetAlone,
			Exception: "a call counts itself for Close, and looks at the context: 40 ns"},
		drivertest.Pair{Name: "scan20", Limit: 1.05, Raw: raw.scan, KV: layer.Scan},
		drivertest.Pair{Name: "scan1000", Limit: 1.05, Raw: raw.Long(raw.scan), KV: layer.Long(layer.Scan),
			Exception: "each pair goes through the driver's cursor and kv's loop: 6 ns"},
		drivertest.Pair{Name: "put", Limit: 1.05, Raw: raw.put, KV: layer.Put},
		drivertest.Pair{Name: "batch100", Limit: 1.05, Raw: raw.batch, KV: layer.Batch},
	)
}

// rawSide does the work through Badger's API, as its documentation shows it. Badger refers to keys
// and values until the commit, so what changes is copied.
type rawSide struct {
	*drivertest.ThinSide
	db  *badger.DB
	buf []byte
}

func (s *rawSide) get(n int) error {
	return s.db.View(func(txn *badger.Txn) error {
		for range n {
			item, err := txn.Get(s.Key())
			if err != nil {
				return err
			}
			if s.buf, err = item.ValueCopy(s.buf[:0]); err != nil {
				return err
			}
		}
		return nil
	})
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
	return s.db.View(func(txn *badger.Txn) error {
		for range n {
			it := txn.NewIterator(badger.IteratorOptions{})
			left := s.Pairs
			for it.Seek(s.Start()); it.Valid(); it.Next() {
				item := it.Item()
				err := item.Value(func(v []byte) error { s.Touch(item.Key(), v); return nil })
				if err != nil {
					return err
				}
				if left--; left == 0 {
					break
				}
			}
			it.Close()
		}
		return nil
	})
}

func (s *rawSide) put(n int) error {
	for range n {
		err := s.db.Update(func(txn *badger.Txn) error { return txn.Set(s.Key(), bytes.Clone(s.Value())) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) batch(n int) error {
	for range n {
		err := s.db.Update(func(txn *badger.Txn) error {
			for range drivertest.ThinBatch {
				if err := txn.Set(s.Key(), bytes.Clone(s.Value())); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
