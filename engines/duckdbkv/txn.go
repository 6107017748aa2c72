package duckdbkv

import (
	"context"

	"github.com/assaydb/assay/kv/driver"
)

// txn is the open transaction of a connection.
type txn struct {
	reader
	ended bool // Commit was called
}

var (
	_ driver.Txn          = (*txn)(nil)
	_ driver.RangeDeleter = (*txn)(nil)
)

// Put sets key to value.
func (t *txn) Put(key, value []byte) error {
	return t.c.put(context.Background(), []driver.Op{{Key: key, Value: value}})
}

// Delete removes key.
func (t *txn) Delete(key []byte) error { return t.c.run(context.Background(), deleteOne, key) }

// DeleteRange removes all pairs in [start, end).
func (t *txn) DeleteRange(start, end []byte) error {
	text, args := where(driver.Range{Start: start, End: end})
	return t.c.run(context.Background(), "DELETE FROM kv"+text, args...)
}

// Commit makes the transaction visible and syncs the log. What fails there is in doubt: DuckDB does
// not tell.
func (t *txn) Commit() error {
	err := t.c.run(context.Background(), commit)
	t.ended = true
	return err
}

// Close rolls back what is not committed. DuckDB: a failed commit has ended the transaction.
func (t *txn) Close() error {
	if !t.ended {
		return t.reader.Close()
	}
	t.s.takeBack(t.c)
	return nil
}
