package buntkv_test

import (
	"path/filepath"
	"testing"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/engines/buntkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
)

// BenchmarkThin measures kv against BuntDB's own API, with SyncPolicy EverySecond and kv's Flushed.
// Both read one store: how its pairs lie in memory differs from one store to the next, by more than
// kv costs a scan. They write to two, as one that is written to from outside loses its frames.
func BenchmarkThin(b *testing.B) {
	layer, db := thinKV(b, "")
	path := filepath.Join(b.TempDir(), "raw.db")
	if err := db.Backup(ctx, path); err != nil {
		b.Fatal(err)
	}
	rawDB, err := buntdb.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer rawDB.Close()
	if err := rawDB.SetConfig(buntdb.Config{SyncPolicy: buntdb.EverySecond, AutoShrinkDisabled: true}); err != nil {
		b.Fatal(err)
	}
	raw := rawSide{ThinSide: drivertest.NewThinSide(), db: rawDB}
	h, _ := buntkv.Handle(db)
	reads := rawSide{ThinSide: drivertest.NewThinSide(), db: h}
	drivertest.Thin(b,
		drivertest.Pair{Name: "get", Limit: 1.05, Raw: reads.get, KV: layer.Get},
		drivertest.Pair{Name: "view+get", Limit: 1.05, Raw: reads.viewGet, KV: layer.ViewGet,
			Exception: "a View counts itself for Close, and takes the gate's lock twice: 50 ns"},
		drivertest.Pair{Name: "get-alone", Limit: 1.05, Raw: reads.viewGet, KV: layer.GetAlone,
			Exception: "a call counts itself for Close, and looks at the context: 40 ns"},
		drivertest.Pair{Name: "scan20", Limit: 1.05, Raw: reads.scan, KV: layer.Scan,
			Exception: "BuntDB pushes pairs and kv pulls them: each goes through the cursor's chunk, 4 ns"},
		drivertest.Pair{Name: "scan1000", Limit: 1.05, Raw: reads.Long(reads.scan), KV: layer.Long(layer.Scan),
			Exception: "a pair of BuntDB's takes 5 ns, and its way through the cursor's chunk 4 more"},
		drivertest.Pair{Name: "put", Limit: 1.05, Raw: raw.put, KV: layer.Put,
			Exception: "a put of BuntDB is an insertion into a tree and one write: kv's Update adds 0.3 µs"},
		drivertest.Pair{Name: "batch100", Limit: 1.05, Raw: raw.batch, KV: layer.Batch},
	)
}

// BenchmarkFrames measures what the frames cost: both sides are kv, the first without them.
func BenchmarkFrames(b *testing.B) {
	plain, plainDB := thinKV(b, "Frames=false")
	framed, framedDB := thinKV(b, "")
	drivertest.Thin(b,
		drivertest.Pair{Name: "get", Raw: plain.Get, KV: framed.Get},
		drivertest.Pair{Name: "put", Raw: plain.Put, KV: framed.Put},
		drivertest.Pair{Name: "write10", Raw: write10(plain, plainDB), KV: write10(framed, framedDB)},
		drivertest.Pair{Name: "batch100", Raw: plain.Batch, KV: framed.Batch},
	)
}

func thinKV(b *testing.B, params string) (*drivertest.ThinSide, *kv.DB) {
	db, err := kv.Open(ctx, "bunt:"+filepath.Join(b.TempDir(), "kv.db")+"?AutoShrinkDisabled=true&"+params)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return drivertest.NewThinKV(b, db, kv.Flushed), db
}

// write10 writes ten pairs at once.
func write10(s *drivertest.ThinSide, db *kv.DB) func(int) error {
	var batch kv.Batch
	return func(n int) error {
		for range n {
			batch.Reset()
			for range 10 {
				batch.Put(s.Key(), s.Value())
			}
			if err := db.Write(ctx, kv.Flushed, &batch); err != nil {
				return err
			}
		}
		return nil
	}
}

// rawSide does the work through BuntDB's API. Keys and values come as bytes, as they do to kv, and
// BuntDB's are strings.
type rawSide struct {
	*drivertest.ThinSide
	db  *buntdb.DB
	buf []byte
}

func (s *rawSide) get(n int) error {
	return s.db.View(func(tx *buntdb.Tx) error {
		for range n {
			v, err := tx.Get(string(s.Key()))
			if err != nil {
				return err
			}
			s.buf = append(s.buf[:0], v...)
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
	return s.db.View(func(tx *buntdb.Tx) error {
		for range n {
			left := s.Pairs
			err := tx.AscendGreaterOrEqual("", string(s.Start()), func(key, value string) bool {
				s.Sum += int(key[0]) + int(key[len(key)-1]) + int(value[0]) + int(value[len(value)-1])
				left--
				return left > 0
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *rawSide) put(n int) error {
	for range n {
		err := s.db.Update(func(tx *buntdb.Tx) error {
			_, _, err := tx.Set(string(s.Key()), string(s.Value()), nil)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) batch(n int) error {
	for range n {
		err := s.db.Update(func(tx *buntdb.Tx) error {
			for range drivertest.ThinBatch {
				if _, _, err := tx.Set(string(s.Key()), string(s.Value()), nil); err != nil {
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
