package etcdkv

import (
	"bytes"

	"github.com/assaydb/assay/kv/driver"
)

// txn reads one revision, remembers what it has read, and keeps its writes until it commits.
type txn struct {
	reader
	read    map[string]int64 // the revision at which each key that was read was put, 0 if it was absent
	scanned bool             // a range was read
	writes  *writes
}

var _ driver.Txn = (*txn)(nil)

func (t *txn) Get(dst, key []byte) ([]byte, error) {
	if op, ok := t.writes.Get(driver.Op{Key: key}); ok {
		if op.Delete {
			return dst, driver.NotFound
		}
		return append(dst, op.Value...), nil
	}
	pair, err := t.pair(key)
	switch {
	case err != nil:
		return dst, err
	case pair == nil:
		t.read[string(key)] = 0
		return dst, driver.NotFound
	}
	t.read[string(key)] = pair.ModRevision
	return append(dst, pair.Value...), nil
}

func (t *txn) Cursor(r driver.Range) (driver.Cursor, error) {
	t.scanned = true
	below, err := t.reader.Cursor(r)
	if err != nil || t.writes.Len() == 0 {
		return below, err
	}
	return newMerged(below, t.writes, r), nil
}

func (t *txn) Put(key, value []byte) error {
	t.writes.Set(driver.Op{Key: bytes.Clone(key), Value: bytes.Clone(value)})
	return nil
}

func (t *txn) Delete(key []byte) error {
	t.writes.Set(driver.Op{Key: bytes.Clone(key), Delete: true})
	return nil
}

// Commit sends the writes with the conditions under which they are right. A transaction that wrote
// nothing has read one revision, and needs none.
func (t *txn) Commit() error {
	if t.writes.Len() == 0 {
		return nil
	}
	return t.store.commit(t.ctx, t.conditions(), t.writes)
}
