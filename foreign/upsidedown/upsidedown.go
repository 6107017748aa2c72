// Package upsidedown is a kv.DB as a store of Bleve's index
// (github.com/blevesearch/upsidedown_store_api).
package upsidedown

import (
	"context"
	"errors"
	"fmt"
	"time"

	store "github.com/blevesearch/upsidedown_store_api"

	"github.com/assaydb/assay/kv"
)

// Store is safe for concurrent use. It is its own Writer, as writers have no state.
type Store struct {
	db    *kv.DB
	d     kv.Durability
	merge store.MergeOperator
}

var (
	_ store.KVStore  = (*Store)(nil)
	_ store.KVWriter = writer{}
)

// New returns db as a store that commits its batches with class d and merges by mo. Closing it
// closes db.
//
// No call here has a context. One that waits, as a batch does for an open Reader where the engine's
// readers block its writers, gives up after db.Wait().
func New(db *kv.DB, d kv.Durability, mo store.MergeOperator) *Store { return &Store{db, d, mo} }

// Writer returns a writer, which takes no lock.
func (s *Store) Writer() (store.KVWriter, error) { return writer{s}, nil }

// Reader returns a reader of the last committed state. Its context ends with it, since on a server
// a snapshot ends with its context.
func (s *Store) Reader() (store.KVReader, error) {
	ctx, cancel := context.WithCancel(context.Background())
	waited := time.AfterFunc(s.db.Wait(), cancel)
	defer waited.Stop()
	r, err := s.db.Snapshot(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	return reader{r, cancel}, nil
}

// Close closes the store.
func (s *Store) Close() error { return s.db.Close() }

type writer struct{ s *Store }

func (w writer) NewBatch() store.KVBatch { return new(batch) }

func (w writer) NewBatchEx(o store.KVBatchOptions) ([]byte, store.KVBatch, error) {
	return make([]byte, o.TotalBytes), &batch{ops: make([]op, 0, o.NumSets+o.NumDeletes+o.NumMerges)}, nil
}

func (w writer) ExecuteBatch(b store.KVBatch) error {
	ours, ok := b.(*batch)
	if !ok {
		return fmt.Errorf("upsidedown: batch of another store: %T", b)
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.s.db.Wait())
	defer cancel()
	return w.s.db.Update(ctx, w.s.d, func(tx *kv.Tx) error {
		for _, o := range ours.ops {
			if err := w.s.run(tx, o); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w writer) Close() error { return nil }

// batch is what a kv.Batch cannot be, because a merge reads.
type batch struct{ ops []op }

type op struct {
	kind       opKind
	key, value []byte
}

type opKind uint8

const (
	opSet opKind = iota
	opDelete
	opMerge
)

func (s *Store) run(tx *kv.Tx, o op) error {
	switch o.kind {
	case opDelete:
		return tx.Delete(o.key)
	case opMerge:
		old, err := tx.Get(o.key)
		if err != nil && !errors.Is(err, kv.NotFound) {
			return err
		}
		v, ok := s.merge.FullMerge(o.key, old, [][]byte{o.value})
		if !ok {
			return fmt.Errorf("upsidedown: %s refuses to merge into %q", s.merge.Name(), o.key)
		}
		return tx.Put(o.key, v)
	}
	return tx.Put(o.key, o.value)
}

// add copies key and value, which are the caller's again when Set, Delete or Merge return.
func (b *batch) add(kind opKind, key, value []byte) {
	buf := append(append(make([]byte, 0, len(key)+len(value)), key...), value...)
	b.ops = append(b.ops, op{kind, buf[:len(key):len(key)], buf[len(key):]})
}

func (b *batch) Set(key, value []byte)   { b.add(opSet, key, value) }
func (b *batch) Delete(key []byte)       { b.add(opDelete, key, nil) }
func (b *batch) Merge(key, value []byte) { b.add(opMerge, key, value) }
func (b *batch) Reset()                  { b.ops = b.ops[:0] }
func (b *batch) Close() error            { return nil }
