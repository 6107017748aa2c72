package state_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/stores/state"
)

// BenchmarkThin measures a call of the store against the same work through bbolt's own API: open,
// work, close, with the same promise, on 100 pairs of 128 bytes. A get is held against bbolt opened
// as its documentation does, and opened read-only, as the store does it.
func BenchmarkThin(b *testing.B) {
	ctx := context.Background()
	dir := b.TempDir()
	store, err := state.New("bbolt:"+dir, &state.Options{Durability: kv.Flushed,
		Buckets: []state.Bucket{{Name: "thin"}}})
	if err != nil {
		b.Fatal(err)
	}
	value := bytes.Repeat([]byte("v"), 128)
	raw := filepath.Join(dir, "raw.db")
	err = store.Update(ctx, "thin", func(tx *state.Tx) error { return each100(tx.Put, value) })
	if err == nil {
		err = rawUpdate(raw, func(bucket *bolt.Bucket) error { return each100(bucket.Put, value) })
	}
	if err != nil {
		b.Fatal(err)
	}
	key := thinKey(42)
	var got []byte
	get := repeat(func() (err error) {
		got, err = store.Get(ctx, "thin", key)
		return err
	})
	rawGet := func(o *bolt.Options) func(int) error {
		return repeat(func() error {
			db, err := bolt.Open(raw, 0o600, o)
			if err != nil {
				return err
			}
			err = db.View(func(tx *bolt.Tx) error {
				got = bytes.Clone(tx.Bucket(rawBucket).Get(key))
				return nil
			})
			if err != nil {
				return err
			}
			return db.Close()
		})
	}
	drivertest.Thin(b,
		drivertest.Pair{Name: "get", Limit: 1.10, KV: get, Raw: rawGet(&bolt.Options{Timeout: time.Second}),
			Exception: beforeReading},
		drivertest.Pair{Name: "get-read-only", Limit: 1.10, KV: get,
			Raw:       rawGet(&bolt.Options{Timeout: time.Second, ReadOnly: true}),
			Exception: beforeReading},
		drivertest.Pair{Name: "put", Limit: 1.10,
			KV: repeat(func() error { return store.Put(ctx, "thin", key, value) }),
			Raw: repeat(func() error {
				return rawUpdate(raw, func(bucket *bolt.Bucket) error { return bucket.Put(key, value) })
			}),
			Exception: beforeReading + "; before, it looks twice whether the file is there, as to open it would make one",
		},
	)
	if len(got) != 128 {
		b.Fatalf("got %d bytes", len(got))
	}
}

// beforeReading is what a call does that the other side does not.
const beforeReading = "a call looks for a sign of those who wait in line, and then, by two looks and a transaction of its own, whether " +
	"the file is whole and still the one of that name; the rest is memory of kv and the driver, 50 pieces against 21"

var rawBucket = []byte("kv")

func rawUpdate(path string, fn func(*bolt.Bucket) error) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second, NoSync: true})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(rawBucket)
		if err != nil {
			return err
		}
		return fn(bucket)
	})
	if err != nil {
		return err
	}
	return db.Close()
}

func each100(put func(key, value []byte) error, value []byte) error {
	for i := range 100 {
		if err := put(thinKey(i), value); err != nil {
			return err
		}
	}
	return nil
}

func thinKey(i int) []byte { return fmt.Appendf(nil, "key%013d", i) }

func repeat(once func() error) func(n int) error {
	return func(n int) error {
		for range n {
			if err := once(); err != nil {
				return err
			}
		}
		return nil
	}
}
