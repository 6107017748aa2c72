// Package datastore is a kv.DB as a datastore of IPFS (github.com/ipfs/go-datastore). Transactions,
// batches, the check, the size and the collection of garbage are those of kv; times to live are not
// there.
package datastore

import (
	"bytes"
	"context"
	"errors"
	"path"

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

// Get returns the value of key.
func (s *Datastore) Get(ctx context.Context, key ds.Key) ([]byte, error) {
	return found(s.db.Get(ctx, key.Bytes()))
}

// Has reports whether key is present.
func (s *Datastore) Has(ctx context.Context, key ds.Key) (bool, error) {
	return s.db.Has(ctx, key.Bytes())
}

// GetSize returns the length of the value of key, and -1 if there is none.
func (s *Datastore) GetSize(ctx context.Context, key ds.Key) (int, error) {
	return size(s.db.Len(ctx, key.Bytes()))
}

// found makes the error of an absent key the datastore's.
func found[T any](v T, err error) (T, error) {
	if errors.Is(err, kv.NotFound) {
		err = ds.ErrNotFound
	}
	return v, err
}

func size(n int, err error) (int, error) {
	if err != nil {
		n = -1
	}
	return found(n, err)
}

// Query runs q on a snapshot that is held until the results have ended or are closed.
func (s *Datastore) Query(ctx context.Context, q query.Query) (query.Results, error) {
	return results(func(r kv.Range) *kv.Iterator { return s.db.Iter(ctx, r) }, q)
}

// marker is the key that Sync writes. No key of a datastore is like it, as they all begin with a
// slash.
var marker = []byte("synced")

// Sync makes what was written before as durable as the store can: a commit covers the weaker ones
// before it where their class is intact (kv.Promise), and on bbolt. On LevelDB it may not.
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

// NewTransaction begins a transaction. While one that writes is open, other writers wait.
func (s *Datastore) NewTransaction(ctx context.Context, readOnly bool) (ds.Txn, error) {
	if readOnly {
		r, err := s.db.Snapshot(ctx)
		return reading{r}, err
	}
	tx, err := s.db.Begin(ctx, s.d)
	if err != nil {
		return nil, err
	}
	return writing{reading{tx.Snapshot}, tx}, nil
}

// reading is a transaction that only reads.
type reading struct{ r *kv.Snapshot }

func (t reading) Get(_ context.Context, key ds.Key) ([]byte, error) {
	return found(t.r.Get(key.Bytes()))
}
func (t reading) Has(_ context.Context, key ds.Key) (bool, error) { return t.r.Has(key.Bytes()) }
func (t reading) GetSize(_ context.Context, key ds.Key) (int, error) {
	return size(t.r.Len(key.Bytes()))
}

func (t reading) Query(_ context.Context, q query.Query) (query.Results, error) {
	return results(t.r.Iter, q)
}

var errReadOnly = errors.New("datastore: the transaction only reads")

func (t reading) Put(context.Context, ds.Key, []byte) error { return errReadOnly }
func (t reading) Delete(context.Context, ds.Key) error      { return errReadOnly }
func (t reading) Commit(context.Context) error              { return t.r.Close() }
func (t reading) Discard(context.Context)                   { _ = t.r.Close() }

// writing is one that also writes. A query of it must have ended before the next write.
type writing struct {
	reading
	tx *kv.Tx
}

func (t writing) Put(_ context.Context, key ds.Key, v []byte) error { return t.tx.Put(key.Bytes(), v) }
func (t writing) Delete(_ context.Context, key ds.Key) error        { return t.tx.Delete(key.Bytes()) }
func (t writing) Commit(context.Context) error                      { return t.tx.Commit() }
func (t writing) Discard(context.Context)                           { _ = t.tx.Rollback() }

// results runs q on what iter walks over: the prefix and an order by key as a walk, the rest by the
// helpers of go-datastore.
func results(iter func(kv.Range) *kv.Iterator, q query.Query) (query.Results, error) {
	walk, rest := plan(q)
	it, ended := iter(walk), false
	next := func() (query.Result, bool) {
		if it.Next() {
			return query.Result{Entry: entry(it, q)}, true
		}
		failed := it.Err() != nil && !ended
		ended = true
		return query.Result{Error: it.Err()}, failed
	}
	all := query.ResultsFromIterator(q, query.Iterator{Next: next, Close: it.Close})
	return query.NaiveQueryApply(rest, all), nil
}

// plan returns the walk for q, and what of q is left to do with its pairs.
func plan(q query.Query) (walk kv.Range, rest query.Query) {
	prefix := path.Clean("/" + q.Prefix)
	if prefix != "/" {
		prefix += "/"
	}
	walk, rest = kv.Prefix([]byte(prefix)), q
	walk.KeysOnly, rest.Prefix = q.KeysOnly && !q.ReturnsSizes, ""
	if len(q.Orders) > 0 {
		switch q.Orders[0].(type) {
		case query.OrderByKey, *query.OrderByKey:
			rest.Orders = nil // no two keys are equal
		case query.OrderByKeyDescending, *query.OrderByKeyDescending:
			walk.Reverse, rest.Orders = true, nil
		}
	}
	return walk, rest
}

func entry(it *kv.Iterator, q query.Query) query.Entry {
	e := query.Entry{Key: string(it.Key()), Size: len(it.Value())}
	switch {
	case !q.KeysOnly:
		e.Value = bytes.Clone(it.Value())
	case !q.ReturnsSizes:
		e.Size = -1
	}
	return e
}
