package nullkv

import (
	"context"

	"github.com/assaydb/assay/kv/driver"
)

// store has no state: one value serves all.
type store struct{}

// Caps tells what the store takes.
func (store) Caps() driver.Caps { return caps }

// Snapshot returns the empty state.
func (store) Snapshot(context.Context) (driver.Reader, error) { return txn{}, nil }

// Begin starts a transaction that writes nothing.
func (store) Begin(context.Context, driver.Durability) (driver.Txn, error) { return txn{}, nil }

// Apply drops ops.
func (store) Apply(context.Context, []driver.Op, driver.Durability) error { return nil }

// Close does nothing.
func (store) Close() error { return nil }

// txn reads nothing and drops what is written to it; unlike with other engines it does not see its
// own writes.
type txn struct{}

// Get finds no key.
func (txn) Get(dst, _ []byte) ([]byte, error) { return dst, driver.NotFound }

// Cursor returns a cursor at its end.
func (txn) Cursor(driver.Range) (driver.Cursor, error) { return cursor{}, nil }

// Put drops the pair.
func (txn) Put(_, _ []byte) error { return nil }

// Delete does nothing.
func (txn) Delete([]byte) error { return nil }

// Commit does nothing.
func (txn) Commit() error { return nil }

// Close does nothing.
func (txn) Close() error { return nil }

// cursor is always at its end.
type cursor struct{}

// Next is the end.
func (cursor) Next() (key, value []byte, err error) { return nil, nil, nil }

// Close does nothing.
func (cursor) Close() error { return nil }
