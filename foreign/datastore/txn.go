package datastore

import (
	"context"
	"errors"

	ds "github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/query"

	"github.com/assaydb/assay/kv"
)

// NewTransaction begins a transaction. While one that writes is open, other writers wait.
func (s *Datastore) NewTransaction(ctx context.Context, readOnly bool) (ds.Txn, error) {
	if readOnly {
		r, err := s.db.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		return reading{r}, nil
	}
	tx, err := s.db.Begin(ctx, s.d)
	if err != nil {
		return nil, err
	}
	return writing{reading{tx.Snapshot}, tx}, nil
}

// reading is a transaction that only reads.
type reading struct{ r *kv.Snapshot }

func notFound(err error) error {
	if errors.Is(err, kv.NotFound) {
		return ds.ErrNotFound
	}
	return err
}

func (t reading) Get(_ context.Context, key ds.Key) ([]byte, error) {
	v, err := t.r.Get(key.Bytes())
	return v, notFound(err)
}

func (t reading) Has(_ context.Context, key ds.Key) (bool, error) { return t.r.Has(key.Bytes()) }

func (t reading) GetSize(_ context.Context, key ds.Key) (int, error) {
	n, err := t.r.Len(key.Bytes())
	if err != nil {
		return -1, notFound(err)
	}
	return n, nil
}

func (t reading) Query(_ context.Context, q query.Query) (query.Results, error) {
	return results(t.r, q, func() error { return nil }), nil
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

func (t writing) Put(_ context.Context, key ds.Key, value []byte) error {
	return t.tx.Put(key.Bytes(), value)
}

func (t writing) Delete(_ context.Context, key ds.Key) error { return t.tx.Delete(key.Bytes()) }
func (t writing) Commit(context.Context) error               { return t.tx.Commit() }
func (t writing) Discard(context.Context)                    { _ = t.tx.Rollback() }
