package bboltkv

import (
	"errors"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// txn is bbolt's read-write transaction.
type txn struct {
	reader
	durability driver.Durability
	fresh      bool  // it creates the bucket
	written    int64 // bytes of Put, with the 16 that bbolt stores beside each
}

// createBucket creates the bucket if there is none.
func (t *txn) createBucket() (err error) {
	defer recovered(&err, protect())
	o := t.store.options
	if t.fresh = t.bucket == nil; t.fresh {
		var in interface {
			CreateBucketIfNotExists(name []byte) (*bolt.Bucket, error)
		} = t.tx
		for _, name := range o.buckets {
			if t.bucket, err = in.CreateBucketIfNotExists(name); err != nil {
				return classify(err)
			}
			in = t.bucket
		}
	}
	t.bucket.FillPercent = o.fillPercent
	return nil
}

// Put copies value: bbolt needs it until the commit has ended. It is never nil, which is how bbolt
// tells buckets.
func (t *txn) Put(key, value []byte) (err error) {
	defer recovered(&err, protect())
	t.written += int64(len(key) + len(value) + 16)
	return classify(t.bucket.Put(key, append(make([]byte, 0, len(value)), value...)))
}

func (t *txn) Delete(key []byte) (err error) {
	defer recovered(&err, protect())
	return classify(t.bucket.Delete(key))
}

// Close rolls back unless a commit has ended the transaction.
func (t *txn) Close() error { return errors.Join(t.end(), t.store.change()) }

// Commit syncs, or not, as Begin was asked. A wrapped DB syncs as it does.
func (t *txn) Commit() error {
	if t.file.os != nil {
		if err := t.store.prepare(t); err != nil {
			return err
		}
		weak := t.durability != driver.Synced || t.store.options.NoSync
		// bbolt reads them when it commits. A sync of the longer file, if it failed, would lose
		// earlier commits' pages, of which no note tells.
		t.file.db.NoSync, t.file.db.NoGrowSync = weak, weak
		if err := t.file.store(t.tx); err != nil {
			return err
		}
	}
	return t.store.commit(t)
}
