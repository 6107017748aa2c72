package pebblekv

import (
	"bytes"
	"errors"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

// maxBatch is where Pebble panics, less the overhead of one operation.
const maxBatch = min(math.MaxUint32, math.MaxInt) - 64

// write adds op to b.
func write(b *pebble.Batch, op *driver.Op) error {
	switch {
	case b.Len() > maxBatch-len(op.Key)-len(op.Value):
		return classify(pebble.ErrBatchTooLarge)
	case op.Delete:
		return classify(b.Delete(op.Key, nil))
	}
	return classify(b.Set(op.Key, op.Value, nil))
}

// end returns the end of the range from start to the last key, nil if it is empty: Pebble deletes
// no range without one.
func (t *txn) end(start []byte) (end []byte, err error) {
	c, err := t.Cursor(driver.Range{Start: start, Reverse: true, KeysOnly: true})
	if err != nil {
		return nil, err
	}
	end, _, err = c.Next()
	if end != nil {
		end = append(bytes.Clone(end), 0)
	}
	return end, errors.Join(err, c.Close())
}

// Commit writes the batch to the log.
func (t *txn) Commit() error {
	if err := t.fence.Err(); err != nil || t.batch.Empty() {
		return err
	}
	err := t.fence.outcome(t.batch.Commit(t.sync))
	if err != nil {
		t.batch = t.db.NewBatch() // Pebble may still use the other
	}
	return err
}

// Close empties the batch for the next transaction, which needs none with an index.
func (t *txn) Close() (err error) {
	if t.batch.Reset(); t.batch.Indexed() {
		err, t.batch = t.batch.Close(), t.db.NewBatch()
	}
	return classify(err)
}
