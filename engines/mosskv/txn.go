package mosskv

import (
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/kv/overlay"
)

// txn is a snapshot and what is to be written.
type txn struct {
	overlay.Txn
	store *store
	d     driver.Durability
}

var _ driver.Txn = (*txn)(nil)

func (t *txn) Commit() error { return t.store.commit(t.Writes, t.d) }
