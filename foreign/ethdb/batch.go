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
	s      *Store
	writes []func(ethdb.KeyValueWriter) error
	size   int
}

func (b *batch) add(size int, write func(ethdb.KeyValueWriter) error) error {
	b.writes, b.size = append(b.writes, write), b.size+size
	return nil
}

func (b *batch) Put(key, value []byte) error {
	k, v := bytes.Clone(key), bytes.Clone(value)
	return b.add(len(k)+len(v), func(w ethdb.KeyValueWriter) error { return w.Put(k, v) })
}

func (b *batch) Delete(key []byte) error {
	k := bytes.Clone(key)
	return b.add(len(k), func(w ethdb.KeyValueWriter) error { return w.Delete(k) })
}

func (b *batch) DeleteRange(start, end []byte) error {
	start, end = bytes.Clone(start), bytes.Clone(end)
	return b.add(len(start)+len(end), func(w ethdb.KeyValueWriter) error {
		if d, ok := w.(ethdb.KeyValueRangeDeleter); ok {
			return d.DeleteRange(start, end)
		}
		return errors.New("ethdb: the target of the replay removes no ranges")
	})
}

// Replay makes the writes to w, one by one.
func (b *batch) Replay(w ethdb.KeyValueWriter) error {
	for _, write := range b.writes {
		if err := write(w); err != nil {
			return err
		}
	}
	return nil
}

// Write commits the batch as one transaction.
func (b *batch) Write() error {
	ctx, cancel := context.WithTimeout(background, b.s.db.Wait())
	defer cancel()
	return b.s.db.Update(ctx, b.s.d, func(tx *kv.Tx) error { return b.Replay(within{tx}) })
}

func (b *batch) ValueSize() int { return b.size }
func (b *batch) Reset()         { b.writes, b.size = b.writes[:0], 0 }
func (b *batch) Close()         { b.Reset() }

// within writes in a transaction.
type within struct{ tx *kv.Tx }

func (w within) Put(key, value []byte) error         { return w.tx.Put(at(key), value) }
func (w within) Delete(key []byte) error             { return w.tx.Delete(at(key)) }
func (w within) DeleteRange(start, end []byte) error { return w.tx.DeleteRange(between(start, end)) }
