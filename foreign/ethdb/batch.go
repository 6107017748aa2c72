package ethdb

import (
	"bytes"
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/ethdb"

	"github.com/assaydb/assay/kv"
)

// NewBatch returns an empty batch.
func (s *Store) NewBatch() ethdb.Batch { return &batch{s: s} }

// NewBatchWithSize returns an empty batch, which grows as it must.
func (s *Store) NewBatchWithSize(int) ethdb.Batch { return &batch{s: s} }

// batch keeps its writes itself, as Replay needs them and a kv.Batch does not give them back.
type batch struct {
	s    *Store
	ops  []op
	size int
}

// op owns its bytes. It sets key, as kv knows it, to value; without a value it removes key, and without a key the keys
// from start to end.
type op struct{ key, value, start, end []byte }

func (b *batch) Put(key, value []byte) error {
	b.size += len(key) + len(value)
	b.ops = append(b.ops, op{key: at(key), value: append([]byte{}, value...)})
	return nil
}

func (b *batch) Delete(key []byte) error {
	b.size += len(key)
	b.ops = append(b.ops, op{key: at(key)})
	return nil
}

func (b *batch) DeleteRange(start, end []byte) error {
	b.size += len(start) + len(end)
	b.ops = append(b.ops, op{start: bytes.Clone(start), end: bytes.Clone(end)})
	return nil
}

// Write commits the batch as one transaction.
func (b *batch) Write() error {
	ctx, cancel := context.WithTimeout(background, b.s.db.Wait())
	defer cancel()
	return b.s.db.Update(ctx, b.s.d, func(tx *kv.Tx) error {
		return b.each(tx.Put, tx.Delete, func(start, end []byte) error { return tx.DeleteRange(between(start, end)) })
	})
}

// Replay makes the writes to w, one by one.
func (b *batch) Replay(w ethdb.KeyValueWriter) error {
	return b.each(
		func(k, v []byte) error { return w.Put(k[1:], v) },
		func(k []byte) error { return w.Delete(k[1:]) },
		func(start, end []byte) error {
			if d, ok := w.(ethdb.KeyValueRangeDeleter); ok {
				return d.DeleteRange(start, end)
			}
			return errors.New("ethdb: the target of the replay removes no ranges")
		})
}

func (b *batch) each(put func(k, v []byte) error, remove func(k []byte) error, removeRange func(start, end []byte) error) error {
	for _, o := range b.ops {
		var err error
		switch {
		case o.key == nil:
			err = removeRange(o.start, o.end)
		case o.value == nil:
			err = remove(o.key)
		default:
			err = put(o.key, o.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) ValueSize() int { return b.size }
func (b *batch) Reset()         { b.ops, b.size = b.ops[:0], 0 }
func (b *batch) Close()         { b.Reset() }
