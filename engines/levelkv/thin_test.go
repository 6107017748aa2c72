package levelkv_test

import (
	"path/filepath"
	"testing"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/util"

	"github.com/assaydb/assay/engines/levelkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
)

// BenchmarkThin measures kv against goleveldb's own API, both without syncs and on one store: how
// fast a table in memory is found through differs by luck from one store to the next.
func BenchmarkThin(b *testing.B) {
	db, err := levelkv.Open(b.Context(), filepath.Join(b.TempDir(), "db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	h, _ := levelkv.Handle(db)
	layer := drivertest.NewThinKV(b, db, kv.Flushed)
	raw := rawSide{ThinSide: drivertest.NewThinSide(), db: h}
	drivertest.Thin(b,
		drivertest.Pair{Name: "get", Limit: 1.05, Raw: raw.get, KV: layer.Get},
		drivertest.Pair{Name: "view+get", Limit: 1.05, Raw: raw.viewGet, KV: layer.ViewGet,
			Exception: "a View counts itself for Close, and has a handle that is never used again: 45 ns"},
		drivertest.Pair{Name: "get-alone", Limit: 1.05, Raw: raw.getAlone, KV: layer.GetAlone,
			Exception: "a call counts itself for Close, and looks at the context: 40 ns"},
		drivertest.Pair{Name: "scan20", Limit: 1.05, Raw: raw.scan, KV: layer.Scan},
		drivertest.Pair{Name: "scan1000", Limit: 1.05, Raw: raw.Long(raw.scan), KV: layer.Long(layer.Scan),
			Exception: "each pair goes through the driver's cursor and kv's loop: 5 ns"},
		drivertest.Pair{Name: "put", Limit: 1.05, Raw: raw.put, KV: layer.PutAlone},
		drivertest.Pair{Name: "update", Limit: 1.05, Raw: raw.update, KV: layer.Put,
			Exception: "a transaction that could read takes kv 150 ns: its turn, its memory, its end"},
		drivertest.Pair{Name: "batch100", Limit: 1.05, Raw: raw.batch, KV: layer.Batch},
	)
}

// rawSide does the work through goleveldb's API, as its documentation shows it.
type rawSide struct {
	*drivertest.ThinSide
	db  *leveldb.DB
	buf []byte
}

func (s *rawSide) get(n int) error {
	snapshot, err := s.db.GetSnapshot()
	if err != nil {
		return err
	}
	defer snapshot.Release()
	for range n {
		v, err := snapshot.Get(s.Key(), nil)
		if err != nil {
			return err
		}
		s.buf = append(s.buf[:0], v...)
	}
	return nil
}

func (s *rawSide) getAlone(n int) error {
	for range n {
		v, err := s.db.Get(s.Key(), nil)
		if err != nil {
			return err
		}
		s.buf = append(s.buf[:0], v...)
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
	snapshot, err := s.db.GetSnapshot()
	if err != nil {
		return err
	}
	defer snapshot.Release()
	for range n {
		it := snapshot.NewIterator(&util.Range{Start: s.Start()}, nil)
		for left := s.Pairs; left > 0 && it.Next(); left-- {
			s.Touch(it.Key(), it.Value())
		}
		it.Release()
		if err := it.Error(); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) put(n int) error {
	for range n {
		if err := s.db.Put(s.Key(), s.Value(), nil); err != nil {
			return err
		}
	}
	return nil
}

// update is a batch with one write, as it stands in for a transaction.
func (s *rawSide) update(n int) error {
	b := new(leveldb.Batch)
	for range n {
		b.Reset()
		b.Put(s.Key(), s.Value())
		if err := s.db.Write(b, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) batch(n int) error {
	b := new(leveldb.Batch)
	for range n {
		b.Reset()
		for range drivertest.ThinBatch {
			b.Put(s.Key(), s.Value())
		}
		if err := s.db.Write(b, nil); err != nil {
			return err
		}
	}
	return nil
}
