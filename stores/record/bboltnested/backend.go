package bboltnested

import (
	"context"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

// backend keeps one collection in a bucket: "pairs" in it holds pairs, "rows" a bucket for each record.
type backend struct {
	store   *Store
	name    []byte
	columns [][]byte
	byName  map[string]int
}

var (
	_ record.Backend       = (*backend)(nil)
	_ record.BackendWriter = (*writer)(nil)
)

var (
	pairsBucket = []byte("pairs")
	rowsBucket  = []byte("rows")
)

// Traits tells what the layout is.
func (b *backend) Traits() record.Traits {
	return record.Traits{Layout: "nested", ByField: true, Strongest: kv.Synced}
}

// SetColumns notes the columns.
func (b *backend) SetColumns(names [][]byte, _ func([]byte) int) {
	b.columns, b.byName = names, map[string]int{}
	for i, name := range names {
		b.byName[string(name)] = i
	}
}

// View runs fn in a read transaction.
func (b *backend) View(ctx context.Context, fn func(record.BackendReader) error) error {
	return b.run(ctx, "view", func(db *bolt.DB, failed *error) error {
		return db.View(func(tx *bolt.Tx) error {
			r := reader{b: b}
			if top := tx.Bucket(b.name); top != nil {
				r.pairs, r.rows = top.Bucket(pairsBucket), top.Bucket(rowsBucket)
			}
			*failed = fn(&r)
			return *failed
		})
	})
}

// Update runs fn in a write transaction. bbolt reads NoSync when it commits.
func (b *backend) Update(ctx context.Context, d kv.Durability, fn func(record.BackendWriter) error) error {
	return b.run(ctx, "update", func(db *bolt.DB, failed *error) error {
		return db.Update(func(tx *bolt.Tx) error {
			w, err := b.writer(tx)
			if err != nil {
				return err
			}
			if *failed = fn(w); *failed != nil {
				return *failed
			}
			db.NoSync = d != kv.Synced
			return nil
		})
	})
}

// Blind is Update.
func (b *backend) Blind(ctx context.Context, d kv.Durability, fn func(record.BackendPutter) error) error {
	return b.Update(ctx, d, func(w record.BackendWriter) error { return fn(w) })
}

// run calls fn, which sets failed to the error of the program's function: that is returned as it is.
func (b *backend) run(ctx context.Context, op string, fn func(db *bolt.DB, failed *error) error) error {
	if err := ctx.Err(); err != nil {
		return wrap(op, b.store.path, err)
	}
	b.store.mu.RLock()
	defer b.store.mu.RUnlock()
	if b.store.db == nil {
		return wrap(op, b.store.path, errClosed)
	}
	var failed error
	err := fn(b.store.db, &failed)
	if failed != nil {
		return failed
	}
	return wrap(op, b.store.path, err)
}

func (b *backend) writer(tx *bolt.Tx) (w *writer, err error) {
	defer recovered(&err)
	top, err := tx.CreateBucketIfNotExists(b.name)
	if err != nil {
		return nil, err
	}
	w = &writer{reader: reader{b: b}}
	if w.pairs, err = top.CreateBucketIfNotExists(pairsBucket); err != nil {
		return nil, err
	}
	w.rows, err = top.CreateBucketIfNotExists(rowsBucket)
	return w, err
}

// writer is a write transaction. bbolt keeps values until the commit, so they are copied.
type writer struct{ reader }

func (w *writer) SetPair(key, value []byte) (err error) {
	defer w.b.guard("put", &err)
	return w.pairs.Put(key, append([]byte{}, value...))
}

func (w *writer) DeletePair(key []byte) (err error) {
	defer w.b.guard("delete", &err)
	return w.pairs.Delete(key)
}

func (w *writer) PutRow(id []byte, row [][]byte, stale []int) (err error) {
	defer w.b.guard("put", &err)
	bucket := w.rows.Bucket(id)
	if bucket == nil {
		if bucket, err = w.rows.CreateBucket(id); err != nil {
			return err
		}
	}
	values := append([]byte{}, slices.Concat(row...)...)
	for i, value := range row {
		if value == nil {
			continue
		}
		n := len(value)
		if err := bucket.Put(w.b.columns[i], values[:n:n]); err != nil {
			return err
		}
		values = values[n:]
	}
	for _, i := range stale {
		if err := bucket.Delete(w.b.columns[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) DeleteRow(id []byte) (err error) {
	defer w.b.guard("delete", &err)
	if w.rows.Bucket(id) == nil {
		return nil
	}
	return w.rows.DeleteBucket(id)
}
