package bboltkv_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
)

var bucketName = []byte("kv")

// BenchmarkThin measures kv against bbolt's own API, with bbolt's NoSync and kv's Flushed.
func BenchmarkThin(b *testing.B) {
	ctx := context.Background()
	dir := b.TempDir()
	db, err := kv.Open(ctx, "bbolt:"+filepath.Join(dir, "kv.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	layer := drivertest.NewThinKV(b, db, kv.Flushed)
	if err := db.Backup(ctx, filepath.Join(dir, "raw.db")); err != nil {
		b.Fatal(err)
	}
	rawDB, err := bolt.Open(filepath.Join(dir, "raw.db"), 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer rawDB.Close()
	raw := rawSide{ThinSide: drivertest.NewThinSide(), db: rawDB}
	hook := hookSides(b)
	drivertest.Thin(b,
		drivertest.Pair{Name: "get", Limit: 1.05, Raw: raw.get, KV: layer.Get},
		drivertest.Pair{Name: "view+get", Limit: 1.05, Raw: raw.viewGet, KV: layer.ViewGet},
		drivertest.Pair{Name: "get-alone", Limit: 1.05, Raw: raw.viewGet, KV: layer.GetAlone},
		drivertest.Pair{Name: "scan20", Limit: 1.05, Raw: raw.scan, KV: layer.Scan,
			Exception: "a scan of kv costs 40 ns, its guard against damage 24; bbolt reads 20 pairs in 500 ns"},
		drivertest.Pair{Name: "scan1000", Limit: 1.05, Raw: raw.Long(raw.scan), KV: layer.Long(layer.Scan),
			Exception: "a pair of bbolt's takes 9 ns: it goes through the cursor's chunk, which is written and read, 4 to 5 more"},
		drivertest.Pair{Name: "put", Limit: 1.05, Raw: raw.put, KV: layer.Put},
		drivertest.Pair{Name: "batch100", Limit: 1.05, Raw: raw.batch, KV: layer.Batch},
		hook,
	)
}

// rawSide does the work through bbolt's API, as its documentation shows it.
type rawSide struct {
	*drivertest.ThinSide
	db  *bolt.DB
	buf []byte
}

func (s *rawSide) get(n int) error {
	return s.db.View(func(tx *bolt.Tx) error {
		bucket := tx.Bucket(bucketName)
		for range n {
			s.buf = append(s.buf[:0], bucket.Get(s.Key())...)
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
	return s.db.View(func(tx *bolt.Tx) error {
		bucket := tx.Bucket(bucketName)
		for range n {
			c, left := bucket.Cursor(), s.Pairs
			for k, v := c.Seek(s.Start()); k != nil; k, v = c.Next() {
				s.Touch(k, v)
				if left--; left == 0 {
					break
				}
			}
		}
		return nil
	})
}

func (s *rawSide) put(n int) error {
	for range n {
		err := s.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketName).Put(s.Key(), s.Value()) })
		if err != nil {
			return err
		}
	}
	return nil
}

// batch copies each value, as bbolt wants it unchanged until the commit.
func (s *rawSide) batch(n int) error {
	for range n {
		err := s.db.Update(func(tx *bolt.Tx) error {
			bucket := tx.Bucket(bucketName)
			for range drivertest.ThinBatch {
				if err := bucket.Put(s.Key(), bytes.Clone(s.Value())); err != nil {
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

// hookSides is what a short-lived command does: open, read, close, on a store of 100 pairs.
func hookSides(b *testing.B) drivertest.Pair {
	ctx := context.Background()
	path := filepath.Join(b.TempDir(), "hook.db")
	key := []byte("key00")
	db, err := kv.Open(ctx, "bbolt:"+path)
	if err != nil {
		b.Fatal(err)
	}
	err = db.Update(ctx, kv.Flushed, func(tx *kv.Tx) error {
		for i := range 100 {
			key[3], key[4] = byte('0'+i/10), byte('0'+i%10)
			if err := tx.Put(key, bytes.Repeat([]byte("v"), 128)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	var buf []byte
	return drivertest.Pair{Name: "open+get+close", Limit: 1.05,
		Exception: "a transaction looks whether the file is whole and has the bucket; the rest reads the URL",
		Raw: func(n int) error {
			for range n {
				db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: 10 * time.Second})
				if err != nil {
					return err
				}
				err = db.View(func(tx *bolt.Tx) error {
					buf = append(buf[:0], tx.Bucket(bucketName).Get(key)...)
					return nil
				})
				if err != nil {
					return err
				}
				if err := db.Close(); err != nil {
					return err
				}
			}
			return nil
		},
		KV: func(n int) error {
			for range n {
				db, err := kv.Open(ctx, "bbolt:"+path)
				if err != nil {
					return err
				}
				err = db.View(ctx, func(s *kv.Snapshot) error {
					var err error
					buf, err = s.Append(buf[:0], key)
					return err
				})
				if err != nil {
					return err
				}
				if err := db.Close(); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
