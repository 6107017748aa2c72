package bboltkv

import (
	"path/filepath"

	"github.com/assaydb/assay/kv/driver"
)

// txn is bbolt's read-write transaction. Closed ones are used again.
type txn struct {
	reader
	durability driver.Durability
	fresh      bool   // this transaction creates the bucket
	values     []byte // holds the values of Put until the end: bbolt does not copy them
}

var _ driver.Txn = (*txn)(nil)

// createBucket creates the bucket if there is none.
func (t *txn) createBucket() (err error) {
	defer recovered(&err, protect())
	t.fresh = t.bucket == nil
	if t.fresh {
		if t.bucket, err = t.tx.CreateBucket(bucketName); err != nil {
			return classify(err)
		}
	}
	t.bucket.FillPercent = t.store.options.fillPercent
	return nil
}

func (t *txn) Put(key, value []byte) (err error) {
	defer recovered(&err, protect())
	return classify(t.bucket.Put(key, t.keep(value)))
}

func (t *txn) Delete(key []byte) (err error) {
	defer recovered(&err, protect())
	return classify(t.bucket.Delete(key))
}

// valuesSize is the size of the blocks that hold the values of Put; a larger value gets a block of its own.
const valuesSize = 32 << 10

// keep returns a copy of value that lives as long as the transaction.
func (t *txn) keep(value []byte) []byte {
	if cap(t.values)-len(t.values) < len(value) {
		t.values = make([]byte, 0, max(valuesSize, len(value)))
	}
	n := len(t.values)
	t.values = append(t.values, value...)
	return t.values[n:len(t.values):len(t.values)]
}

// apply writes ops without copying them.
func (t *txn) apply(ops []driver.Op) (err error) {
	defer recovered(&err, protect())
	for i := range ops {
		op := &ops[i]
		if op.Delete {
			err = t.bucket.Delete(op.Key)
		} else {
			err = t.bucket.Put(op.Key, op.Value)
		}
		if err != nil {
			return classify(err)
		}
	}
	return nil
}

// Commit syncs, or not, as Begin was asked. bbolt reads NoSync when it commits.
func (t *txn) Commit() (err error) {
	db := t.tx.DB()
	db.NoSync = t.durability != driver.Synced || t.store.options.bolt.NoSync
	if err := t.commit(); err != nil {
		return classify(err)
	}
	if t.fresh && !t.store.options.bolt.NoSync {
		// The first commit of the file: later ones rely on its name being durable.
		return driver.SyncDir(filepath.Dir(t.store.path))
	}
	return nil
}

func (t *txn) commit() (err error) {
	defer t.file.recovered(&err, protect())
	return t.tx.Commit()
}

// Close rolls back unless Commit has ended the transaction.
func (t *txn) Close() error {
	err := t.end()
	if cap(t.values) > valuesSize {
		t.values = nil
	}
	t.values = t.values[:0]
	txns.Put(t)
	return err
}
