package pebblekv

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

// txn is a batch, and reads what is in it and in the store, to which nobody else writes meanwhile.
type txn struct {
	reader
	sync *pebble.WriteOptions
}

var _ driver.RangeDeleter = (*txn)(nil)

// Put sets key to value.
func (t *txn) Put(key, value []byte) error { return write(t.batch, &driver.Op{Key: key, Value: value}) }

// Delete removes key.
func (t *txn) Delete(key []byte) error { return write(t.batch, &driver.Op{Key: key, Delete: true}) }

// DeleteRange removes all pairs in [start, end), by one record.
func (t *txn) DeleteRange(start, end []byte) (err error) {
	if end == nil {
		if end, err = t.end(start); end == nil || err != nil {
			return err
		}
	}
	return classify(t.batch.DeleteRange(start, end, nil))
}
