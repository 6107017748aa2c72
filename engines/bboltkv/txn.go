package bboltkv

import (
	"path/filepath"

	"github.com/assaydb/assay/kv/driver"
)

// txn is bbolt's read-write transaction.
type txn struct {
	reader
	durability driver.Durability
	fresh      bool  // it creates the bucket
	written    int64 // bytes of Put, with what bbolt stores beside each
}

var _ driver.Txn = (*txn)(nil)

// perPair is how many bytes bbolt stores with a pair.
const perPair = 16

// createBucket creates the bucket if there is none.
func (t *txn) createBucket() (err error) {
	defer recovered(&err, protect())
	o := t.store.options
	if t.fresh = t.bucket == nil; t.fresh {
		t.bucket, err = t.tx.CreateBucketIfNotExists(o.buckets[0])
		for _, name := range o.buckets[1:] {
			if err == nil {
				t.bucket, err = t.bucket.CreateBucketIfNotExists(name)
			}
		}
		if err != nil {
			return classify(err)
		}
	}
	t.bucket.FillPercent = o.fillPercent
	return nil
}

// Put copies value: bbolt needs it until the commit has ended. It is never nil, which is how bbolt
// tells buckets.
func (t *txn) Put(key, value []byte) (err error) {
	defer recovered(&err, protect())
	t.written += int64(len(key) + len(value) + perPair)
	return classify(t.bucket.Put(key, append(make([]byte, 0, len(value)), value...)))
}

func (t *txn) Delete(key []byte) (err error) {
	defer recovered(&err, protect())
	return classify(t.bucket.Delete(key))
}

// Commit syncs, or not, as Begin was asked.
func (t *txn) Commit() error {
	s, f, tx := t.store, t.file, t.tx
	if !f.wrapped {
		if t.fresh && !s.options.bolt.NoSync { // this commit and all later ones rely on the file's name
			path, err := filepath.EvalSymlinks(s.path)
			if err == nil {
				err = driver.SyncDir(filepath.Dir(path))
			}
			if err != nil {
				return err
			}
		}
		f.db.NoSync = t.durability != driver.Synced || s.options.bolt.NoSync // bbolt reads it when it commits
		if f.reserved {
			f.db.AllocSize = min(s.options.allocSize, int(tx.Size())) // bbolt would take it from the size of the map
		}
	}
	if f.tight(tx, t.written) {
		t.tx = nil
		return s.commitApart(f, tx)
	}
	return f.commit(tx)
}
