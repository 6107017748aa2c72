package traits

import (
	"bytes"
	"cmp"
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

// sizes are what may be so and so large: pairs that have n bytes of it.
var sizes = []struct {
	name  string
	of    func(*result.EngineTraits) *result.Most
	pairs func(n int64, some func(n int64) []byte) (keys, values [][]byte)
}{
	{"key", func(t *result.EngineTraits) *result.Most { return &t.Key },
		func(n int64, some func(int64) []byte) (keys, values [][]byte) {
			return [][]byte{some(n)}, [][]byte{[]byte("value")}
		}},
	{"value", func(t *result.EngineTraits) *result.Most { return &t.Value },
		func(n int64, some func(int64) []byte) (keys, values [][]byte) {
			return [][]byte{[]byte("key")}, [][]byte{some(n)}
		}},
	{"transaction", func(t *result.EngineTraits) *result.Most { return &t.Txn },
		func(n int64, some func(int64) []byte) (keys, values [][]byte) {
			for i := range n / txnRecord {
				keys = append(keys, fmt.Appendf(nil, "key-%012d", i))
				values = append(values, some(txnRecord-16))
			}
			return keys, values
		}},
}

// most finds the largest of t.Size in processes of their own: one that is too large may end its
// process, and what is half as large is tried then.
func (o Options) most(ctx context.Context, t task) (m result.Most) {
	for refused := ""; ; {
		err := o.child(ctx, t, &m)
		if err == nil {
			m.Refused = cmp.Or(m.Refused, refused)
			return m
		}
		refused = err.Error()
		if t.Options.Largest /= 2; t.Options.Largest < txnRecord || ctx.Err() != nil {
			return result.Most{Refused: refused}
		}
		_ = removeAll(t.Dir, t.Size) // what that process has left
	}
}

// largest finds how large t.Size may be, by sizes that double. Each is tried in a store of its own,
// and read back.
func (t task) largest(ctx context.Context) (m result.Most) {
	random := rand.NewChaCha8([32]byte{1})
	some := func(n int64) []byte {
		b := make([]byte, n)
		_, _ = random.Read(b) // it never fails
		return b
	}
	for _, s := range sizes {
		if s.name != t.Size {
			continue
		}
		for n := int64(txnRecord); n <= t.Options.Largest; n *= 2 {
			keys, values := s.pairs(n, some)
			if err := t.fits(ctx, s.name, keys, values); err != nil {
				m.Refused = wordFor(err)
				break
			}
			m.Bytes = n
		}
	}
	return m
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
