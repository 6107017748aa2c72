package duckdbkv

import (
	"context"

	"github.com/assaydb/assay/kv/driver"
)

// txn is a transaction, or the one of a snapshot.
type txn struct{ reader }

var _ driver.RangeDeleter = (*txn)(nil)

// Put sets key to value.
func (t *txn) Put(key, value []byte) error {
	return t.put(context.Background(), []driver.Op{{Key: key, Value: value}})
}

// Delete removes key.
func (t *txn) Delete(key []byte) error { return t.run(context.Background(), deleteOne, key) }

// DeleteRange removes all pairs in [start, end).
func (t *txn) DeleteRange(start, end []byte) error {
	text, args := where(driver.Range{Start: start, End: end})
	return t.run(context.Background(), "DELETE FROM kv"+text, args...)
}

// Commit makes the transaction visible and syncs the log. What fails there is in doubt: DuckDB does
// not tell.
func (t *txn) Commit() error { return classify(t.tx.Commit()) }
