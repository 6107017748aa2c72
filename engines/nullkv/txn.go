package nullkv

import "github.com/assaydb/assay/kv/driver"

// txn drops what is written to it; unlike with other engines it does not see its own writes.
type txn struct{ reader }

var _ driver.Txn = txn{}

// Put drops the pair.
func (txn) Put(_, _ []byte) error { return nil }

// Delete does nothing.
func (txn) Delete([]byte) error { return nil }

// Commit does nothing.
func (txn) Commit() error { return nil }
