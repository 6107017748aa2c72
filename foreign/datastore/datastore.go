// Package datastore is a kv.DB as a datastore of IPFS (github.com/ipfs/go-datastore). Transactions,
// batches, the check, the size and the collection of garbage are those of kv; times to live are not
// there.
package datastore

import (
	"context"

	ds "github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/query"

	"github.com/assaydb/assay/kv"
)

// Datastore keeps its keys in db as they are: all begin with a slash. It is safe for concurrent
// use.
type Datastore struct {
	db *kv.DB
	d  kv.Durability
}

var (
	_ ds.Batching            = (*Datastore)(nil)
	_ ds.CheckedDatastore    = (*Datastore)(nil)
	_ ds.GCDatastore         = (*Datastore)(nil)
	_ ds.PersistentDatastore = (*Datastore)(nil)
	_ ds.TxnDatastore        = (*Datastore)(nil)
)

// New returns db as a datastore whose Put and Delete are commits of class d. Closing it closes db.
func New(db *kv.DB, d kv.Durability) *Datastore { return &Datastore{db, d} }

// Put sets key to value.
func (s *Datastore) Put(ctx context.Context, key ds.Key, value []byte) error {
	return s.db.Put(ctx, s.d, key.Bytes(), value)
}

// Delete removes key.
func (s *Datastore) Delete(ctx context.Context, key ds.Key) error {
	return s.db.Delete(ctx, s.d, key.Bytes())
}

// view reads on a snapshot of its own.
func view[T any](ctx context.Context, s *Datastore, get func(reading) (T, error)) (v T, err error) {
	err = s.db.View(ctx, func(r *kv.Snapshot) error {
		v, err = get(reading{r})
		return err
	})
	return v, err
}

// Get returns the value of key.
func (s *Datastore) Get(ctx context.Context, key ds.Key) ([]byte, error) {
	return view(ctx, s, func(r reading) ([]byte, error) { return r.Get(ctx, key) })
}

// Has reports whether key is present.
func (s *Datastore) Has(ctx context.Context, key ds.Key) (bool, error) {
	return view(ctx, s, func(r reading) (bool, error) { return r.Has(ctx, key) })
}

// GetSize returns the length of the value of key, and -1 if there is none.
func (s *Datastore) GetSize(ctx context.Context, key ds.Key) (int, error) {
	return view(ctx, s, func(r reading) (int, error) { return r.GetSize(ctx, key) })
}

// Query runs q on a snapshot that is held until the results have ended or are closed.
func (s *Datastore) Query(ctx context.Context, q query.Query) (query.Results, error) {
	r, err := s.db.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return results(r, q, r.Close), nil
}

// marker is the key that Sync writes. No key of a datastore is like it, as they all begin with a
// slash.
var marker = []byte("synced")

// Sync makes what was written before as durable as the store can: a commit covers the weaker ones
// before it.
func (s *Datastore) Sync(ctx context.Context, _ ds.Key) error {
	if strongest := s.db.Caps().Strongest(); s.d != strongest {
		return s.db.Put(ctx, strongest, marker, nil)
	}
	return nil
}

// Check examines the stored data.
func (s *Datastore) Check(ctx context.Context) error { return s.db.Check(ctx) }

// CollectGarbage gives space that is no longer needed back to the file system.
func (s *Datastore) CollectGarbage(ctx context.Context) error { return s.db.Compact(ctx) }

// Close closes the store.
func (s *Datastore) Close() error { return s.db.Close() }

// DiskUsage returns the bytes that the store takes on disk.
func (s *Datastore) DiskUsage(context.Context) (uint64, error) {
	n, err := s.db.Size()
	return uint64(n.Allocated), err
}

// Batch returns an empty batch.
func (s *Datastore) Batch(context.Context) (ds.Batch, error) { return &batch{s: s}, nil }

type batch struct {
	s *Datastore
	b kv.Batch
}

func (b *batch) Put(_ context.Context, key ds.Key, value []byte) error {
	b.b.Put(key.Bytes(), value)
	return nil
}

func (b *batch) Delete(_ context.Context, key ds.Key) error {
	b.b.Delete(key.Bytes())
	return nil
}

func (b *batch) Commit(ctx context.Context) error { return b.s.db.Write(ctx, b.s.d, &b.b) }
