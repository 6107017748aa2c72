package etcdkv

import (
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/kv/overlay"
)

// txn reads one revision, remembers what it has read, and keeps its writes until it commits.
type txn struct {
	*reader
	overlay.Txn
	read    map[string]int64 // the revision at which each key that was read was put, 0 if it was absent
	scanned bool             // a range was read
}

var _ driver.Txn = (*txn)(nil)

func (t *txn) Get(dst, key []byte) ([]byte, error) {
	if value, written, err := t.Writes.Get(dst, key); written {
		return value, err
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
	return t.Txn.Cursor(r)
}

// Commit sends the writes with the conditions under which they are right. A transaction that wrote
// nothing has read one revision, and needs none.
func (t *txn) Commit() error {
	if t.Writes.Len() == 0 {
		return nil
	}
	return t.store.commit(t.ctx, t.conditions(), t.Writes)
}
