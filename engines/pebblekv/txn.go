package pebblekv

import (
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

// txn is a batch that reads what is in it and in the store, to which nobody else writes meanwhile.
type txn struct {
	view
	batch *pebble.Batch
	sync  *pebble.WriteOptions
}

var txns = sync.Pool{New: func() any { return new(txn) }}

var _ driver.RangeDeleter = (*txn)(nil)

// Put sets key to value.
func (t *txn) Put(key, value []byte) error { return write(t.batch, &driver.Op{Key: key, Value: value}) }

// Delete removes key.
func (t *txn) Delete(key []byte) error { return write(t.batch, &driver.Op{Key: key, Delete: true}) }

// DeleteRange removes all pairs in [start, end), by one record.
func (t *txn) DeleteRange(start, end []byte) error {
	if end == nil { // which Pebble does not have
		c, err := t.Cursor(driver.Range{Start: start, Reverse: true, KeysOnly: true})
		if err != nil {
			return err
		}
		last, _, err := c.Next()
		end = append(append(end, last...), 0)
		if err = errors.Join(err, c.Close()); err != nil || last == nil {
			return err
		}
	}
	if t.batch.Len() > maxBatch-len(start)-len(end) {
		return classify(pebble.ErrBatchTooLarge)
	}
	return classify(t.batch.DeleteRange(start, end, nil))
}

// Commit writes the batch to the log.
func (t *txn) Commit() error {
	if err := errors.Join(t.release(), t.fence.stopped()); err != nil || t.batch.Empty() {
		return err
	}
	return t.fence.outcome(t.batch.Commit(t.sync))
}

// Close drops the batch.
func (t *txn) Close() error {
	defer txns.Put(t)
	return errors.Join(t.release(), classify(t.batch.Close()))
}
