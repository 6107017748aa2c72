package traits

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

// txnRecord is the size of a value in the transactions that are tried.
const txnRecord = 1 << 10

// largest finds how large a key, a value and a transaction may be, by sizes that double. Each is
// tried in a store of its own, and read back.
func (t task) largest(ctx context.Context, found *result.EngineTraits) error {
	random := rand.NewChaCha8([32]byte{1})
	some := func(n int64) []byte {
		b := make([]byte, n)
		_, _ = random.Read(b) // it never fails
		return b
	}
	for _, of := range []struct {
		name  string
		into  *result.Most
		pairs func(n int64) (keys, values [][]byte)
	}{
		{"key", &found.Key, func(n int64) (keys, values [][]byte) {
			return [][]byte{some(n)}, [][]byte{[]byte("value")}
		}},
		{"value", &found.Value, func(n int64) (keys, values [][]byte) {
			return [][]byte{[]byte("key")}, [][]byte{some(n)}
		}},
		{"transaction", &found.Txn, func(n int64) (keys, values [][]byte) {
			for i := range n / txnRecord {
				keys = append(keys, fmt.Appendf(nil, "key-%012d", i))
				values = append(values, some(txnRecord-16))
			}
			return keys, values
		}},
	} {
		for n := int64(txnRecord); n <= t.Options.Largest; n *= 2 {
			keys, values := of.pairs(n)
			if err := t.fits(ctx, of.name, keys, values); err != nil {
				of.into.Refused = wordFor(err)
				break
			}
			of.into.Bytes = n
		}
	}
	return ctx.Err()
}

// fits writes pairs in one transaction to a new store, and reads them back.
func (t task) fits(ctx context.Context, name string, keys, values [][]byte) error {
	db, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	err = db.Update(ctx, db.Caps().Cheapest(), func(tx *kv.Tx) error {
		for i, k := range keys {
			if err := tx.Put(k, values[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = db.View(ctx, func(s *kv.Snapshot) error {
			for i, k := range keys {
				v, err := s.Get(k)
				if err != nil {
					return err
				}
				if !bytes.Equal(v, values[i]) {
					return fmt.Errorf("a value of %d bytes came back as another one", len(values[i]))
				}
			}
			return nil
		})
	}
	return errors.Join(err, db.Close(), removeAll(t.Dir, name))
}

// removeAll removes a store, with what lies beside it.
func removeAll(dir, name string) error {
	files, err := filepath.Glob(filepath.Join(dir, name+"*"))
	for _, f := range files {
		err = errors.Join(err, os.RemoveAll(f))
	}
	return err
}
