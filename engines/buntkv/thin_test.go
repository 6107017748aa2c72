package buntkv_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
)

// BenchmarkThin measures kv against BuntDB's own API, with SyncPolicy EverySecond and kv's Flushed.
func BenchmarkThin(b *testing.B) {
	ctx := context.Background()
	dir := b.TempDir()
	db, err := kv.Open(ctx, "bunt:"+filepath.Join(dir, "kv.db")+"?AutoShrinkDisabled=true")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	layer := drivertest.NewThinKV(b, db, kv.Flushed)
	if err := db.Backup(ctx, filepath.Join(dir, "raw.db")); err != nil {
		b.Fatal(err)
	}
	rawDB, err := buntdb.Open(filepath.Join(dir, "raw.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer rawDB.Close()
	if err := rawDB.SetConfig(buntdb.Config{SyncPolicy: buntdb.EverySecond, AutoShrinkDisabled: true}); err != nil {
		b.Fatal(err)
	}
	raw := rawSide{ThinSide: drivertest.NewThinSide(), db: rawDB}
	drivertest.Thin(b,
		drivertest.Pair{Name: "get", Limit: 1.05, Raw: raw.get, KV: layer.Get},
		drivertest.Pair{Name: "view+get", Raw: raw.viewGet, KV: layer.ViewGet},
		drivertest.Pair{Name: "scan20", Limit: 1.05, Raw: raw.scan, KV: layer.Scan,
			Exception: "BuntDB pushes pairs and kv pulls them: each pair goes through the cursor's chunk and the loop of Scan, 5 ns"},
		drivertest.Pair{Name: "put", Limit: 1.10, Raw: raw.put, KV: layer.Put},
		drivertest.Pair{Name: "batch100", Limit: 1.10, Raw: raw.batch, KV: layer.Batch},
	)
}

// rawSide does the work through BuntDB's API. Keys and values come as bytes, as they do to kv, and BuntDB's are strings.
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
			left := drivertest.ThinScan
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
