package mosskv

import (
	"path/filepath"
	"testing"

	"github.com/couchbase/moss"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
)

// BenchmarkThin measures kv against moss's own API, with commits that nobody waits for.
func BenchmarkThin(b *testing.B) {
	dir := b.TempDir()
	db, err := kv.Open(b.Context(), "moss:"+filepath.Join(dir, "kv"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	layer := drivertest.NewThinKV(b, db, kv.Buffered)
	if err := db.Backup(b.Context(), filepath.Join(dir, "raw")); err != nil {
		b.Fatal(err)
	}
	rawDB, err := Open(b.Context(), filepath.Join(dir, "raw"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer rawDB.Close()
	raw := rawSide{ThinSide: drivertest.NewThinSide()}
	raw.c, _ = Handle(rawDB)
	drivertest.Thin(b,
		drivertest.Pair{Name: "get", Limit: 1.05, Raw: raw.get, KV: layer.Get},
		drivertest.Pair{Name: "scan20", Limit: 1.05, Raw: raw.scan, KV: layer.Scan,
			Exception: "moss allocates an iterator for each scan, and the driver its cursor"},
		drivertest.Pair{Name: "scan1000", Limit: 1.05, Raw: raw.Long(raw.scan), KV: layer.Long(layer.Scan)},
		drivertest.Pair{Name: "put", Limit: 1.05, Raw: raw.put, KV: layer.Put,
			Exception: "a transaction has a snapshot and a map of its writes, which a batch of moss has not"},
		drivertest.Pair{Name: "batch100", Limit: 1.05, Raw: raw.batch, KV: layer.Batch},
	)
}

// rawSide does the work through moss's API, as its documentation shows it.
type rawSide struct {
	*drivertest.ThinSide
	c   moss.Collection
	buf []byte
}

func (s *rawSide) get(n int) error {
	snapshot, err := s.c.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	for range n {
		v, err := snapshot.Get(s.Key(), moss.ReadOptions{NoCopyValue: true})
		if err != nil {
			return err
		}
		s.buf = append(s.buf[:0], v...)
	}
	return nil
}

func (s *rawSide) scan(n int) error {
	snapshot, err := s.c.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	for range n {
		it, err := snapshot.StartIterator(s.Start(), nil, moss.IteratorOptions{})
		if err != nil {
			return err
		}
		for range s.Pairs {
			k, v, err := it.Current()
			if err != nil {
				return err
			}
			s.Touch(k, v)
			if err := it.Next(); err != nil && err != moss.ErrIteratorDone {
				return err
			}
		}
		if err := it.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) put(n int) error {
	for range n {
		if err := s.write(1); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) batch(n int) error {
	for range n {
		if err := s.write(drivertest.ThinBatch); err != nil {
			return err
		}
	}
	return nil
}

// write executes a batch of some pairs. moss wants each key once, and its documentation a map where
// that is not so.
func (s *rawSide) write(pairs int) error {
	b, err := s.c.NewBatch(pairs, pairs*116)
	if err != nil {
		return err
	}
	defer b.Close()
	last := make(map[string][]byte, pairs)
	for range pairs {
		last[string(s.Key())] = append([]byte(nil), s.Value()...)
	}
	for k, v := range last {
		if err := b.Set([]byte(k), v); err != nil {
			return err
		}
	}
	return s.c.ExecuteBatch(b, moss.WriteOptions{})
}
