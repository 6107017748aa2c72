package ethdb

import (
	"errors"

	"github.com/ethereum/go-ethereum/ethdb"

	"github.com/assaydb/assay/kv"
)

// NewBatch returns an empty batch.
func (s *Store) NewBatch() ethdb.Batch { return &batch{s: s} }

// NewBatchWithSize returns an empty batch, which grows as it must.
func (s *Store) NewBatchWithSize(int) ethdb.Batch { return &batch{s: s} }

type batch struct {
	s *Store
	b kv.Batch
}

func (b *batch) Put(key, value []byte) error {
	b.b.Put(at(key), value)
	return nil
}

func (b *batch) Delete(key []byte) error {
	b.b.Delete(at(key))
	return nil
}

func (b *batch) DeleteRange(start, end []byte) error {
	b.b.DeleteRange(between(start, end))
	return nil
}

// Replay makes the writes to w, one by one.
func (b *batch) Replay(w ethdb.KeyValueWriter) error { return b.b.Replay(target{w}) }

// Write commits the batch as one transaction.
func (b *batch) Write() error { return b.s.write(b.s.d, &b.b) }

func (b *batch) ValueSize() int { return b.b.Size() }
func (b *batch) Reset()         { b.b.Reset() }
func (b *batch) Close()         { b.b.Reset() }

// target is where a batch is replayed to, by keys without top.
type target struct{ w ethdb.KeyValueWriter }

func (t target) Put(key, value []byte) error { return t.w.Put(key[1:], value) }
func (t target) Delete(key []byte) error     { return t.w.Delete(key[1:]) }

func (t target) DeleteRange(r kv.Range) error {
	d, ok := t.w.(ethdb.KeyValueRangeDeleter)
	if !ok {
		return errors.New("ethdb: the target of the replay removes no ranges")
	}
	if r.End[0] != top {
		return d.DeleteRange(r.Start[1:], nil)
	}
	return d.DeleteRange(r.Start[1:], r.End[1:])
}
