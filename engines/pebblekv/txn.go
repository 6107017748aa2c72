package pebblekv

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

// txn is a transaction. Nobody else writes while it is open, so that it reads the store itself until it has written,
// and from then on an indexed batch together with the store. A transaction that does not read what it wrote keeps a
// plain batch, which has no index to build.
type txn struct {
	view
	store   *store
	batch   *pebble.Batch // nil before the first write
	indexed bool
	sync    *pebble.WriteOptions
}

var _ driver.Txn = (*txn)(nil)

// Get appends the value of key to dst.
func (t *txn) Get(dst, key []byte) ([]byte, error) {
	if err := t.index(); err != nil {
		return dst, err
	}
	return t.view.Get(dst, key)
}

// Cursor returns a cursor before the first pair of r.
func (t *txn) Cursor(r driver.Range) (driver.Cursor, error) {
	if err := t.index(); err != nil {
		return nil, err
	}
	return t.view.Cursor(r)
}

// index makes the writes so far readable.
func (t *txn) index() error {
	if t.indexed || t.batch == nil {
		return nil
	}
	b := t.store.db.NewIndexedBatch()
	if err := b.Apply(t.batch, nil); err != nil {
		return classify(errors.Join(err, b.Close()))
	}
	err := errors.Join(t.release(), t.batch.Close()) // the iterators read the store alone
	t.batch, t.indexed, t.from, t.changes = b, true, b, true
	return classify(err)
}

// Put sets key to value.
func (t *txn) Put(key, value []byte) error {
	return classify(write(t.writing(), &driver.Op{Key: key, Value: value}))
}

// Delete removes key.
func (t *txn) Delete(key []byte) error {
	return classify(write(t.writing(), &driver.Op{Key: key, Delete: true}))
}

func (t *txn) writing() *pebble.Batch {
	if t.batch == nil {
		t.batch = t.store.db.NewBatch()
	}
	return t.batch
}

// Commit writes the batch to the log.
func (t *txn) Commit() error {
	if err := t.release(); err != nil {
		return err
	}
	if err := t.fence.failed(); err != nil || t.batch == nil {
		return err
	}
	if err := t.batch.Commit(t.sync); err != nil {
		return classify(err)
	}
	return t.fence.failed()
}

// Close drops the batch and keeps the transaction for the next.
func (t *txn) Close() error {
	err := t.release()
	if t.batch != nil {
		err = errors.Join(err, classify(t.batch.Close()))
	}
	t.from, t.batch, t.indexed, t.changes = nil, nil, false, false
	t.store.txns.Put(t)
	return err
}
