package buntkv

import (
	"errors"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// txn is BuntDB's read-write transaction. Closed ones are used again.
type txn struct {
	reader
	store  *store
	synced bool // what its commit is to be
	ended  bool // by a commit
}

var _ driver.Txn = (*txn)(nil)

func (t *txn) Put(key, value []byte) error {
	_, _, err := t.tx.Set(string(key), string(value), nil)
	return classify(err)
}

// Delete copies key: BuntDB keeps it until the transaction ends.
func (t *txn) Delete(key []byte) error { return t.remove(string(key)) }

func (t *txn) remove(key string) error {
	if _, err := t.tx.Delete(key); err != nil && !errors.Is(err, buntdb.ErrNotFound) {
		return classify(err)
	}
	return nil
}

// apply writes ops. What is deleted is not copied, as ops outlive the commit.
func (t *txn) apply(ops []driver.Op) error {
	for i := range ops {
		op := &ops[i]
		var err error
		if op.Delete {
			err = t.remove(borrowed(op.Key))
		} else {
			err = t.Put(op.Key, op.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Commit appends the transaction to the file in one write.
func (t *txn) Commit() error {
	t.ended = true
	return t.store.commit(t.tx, t.synced)
}

func (t *txn) Close() error {
	var err error
	if !t.ended {
		err = classify(t.tx.Rollback())
	}
	t.tx = nil
	txns.Put(t)
	return err
}
