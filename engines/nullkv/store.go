package nullkv

import (
	"context"

	"github.com/assaydb/assay/kv/driver"
)

// store has no state: one value serves all.
type store struct{}

var _ driver.Store = store{}

// Caps tells what the store takes.
func (store) Caps() driver.Caps { return caps }

// Settings is empty.
func (store) Settings() []driver.Setting { return nil }

// Snapshot returns the empty state.
func (store) Snapshot(context.Context) (driver.Reader, error) { return reader{}, nil }

// Begin starts a transaction that writes nothing.
func (store) Begin(context.Context, driver.Durability) (driver.Txn, error) { return txn{}, nil }

// Apply drops ops.
func (store) Apply(context.Context, []driver.Op, driver.Durability) error { return nil }

// Compact does nothing.
func (store) Compact(context.Context) error { return nil }

// Check finds no fault in nothing.
func (store) Check(context.Context) error { return nil }

// Files is empty.
func (store) Files() ([]string, error) { return nil, nil }

// Backup is refused: there is nothing that a copy could hold.
func (store) Backup(context.Context, string) error {
	return &driver.Error{Kind: driver.Unsupported, Hint: "choose an engine that keeps data"}
}

// Close does nothing.
func (store) Close() error { return nil }
