package buntkv

import (
	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// txn is BuntDB's read-write transaction.
type txn struct {
	reader
	store      *store
	durability driver.Durability
	ended      bool   // by a commit
	buf        []byte // of a store with frames: what is to be written
}

func (t *txn) Put(key, value []byte) error {
	_, _, err := t.tx.Set(string(key), string(value), nil)
	if err == nil && t.buf != nil {
		t.buf = appendSet(t.buf, key, value)
	}
	return err
}

// Delete copies key: BuntDB keeps it until the transaction ends.
func (t *txn) Delete(key []byte) error {
	switch _, err := t.tx.Delete(string(key)); {
	case err == buntdb.ErrNotFound:
		return nil // and nothing will be written
	case err != nil:
		return err
	}
	if t.buf != nil {
		t.buf = appendDelete(t.buf, key)
	}
	return nil
}

// Commit appends the transaction to the file in one write. It lets others in before it syncs.
func (t *txn) Commit() error {
	t.ended = true
	if t.buf != nil {
		return t.commitFramed()
	}
	return t.store.fail(t.gate.commit(t.tx))
}

func (t *txn) Close() (err error) {
	if !t.ended {
		err = t.tx.Rollback()
		t.gate.endWrite(nil)
	}
	t.tx, t.buf = nil, nil
	return err
}
