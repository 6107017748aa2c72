package levelkv

import (
	"github.com/syndtr/goleveldb/leveldb"

	"github.com/assaydb/assay/kv/driver"
)

// txn is a transaction: a batch that is written as a whole by Commit. Nobody else writes while it is open, so that it
// reads the store itself. A transaction that reads after it has written keeps an index of its writes, too.
//
// goleveldb has transactions of its own; they write tables instead of the journal and sync them, whatever is asked.
type txn struct {
	reader
	store *store
	batch *leveldb.Batch
	class driver.Durability
	own   *index // of all that is in batch; nil until something is read
}

var _ driver.Txn = (*txn)(nil)

// Put sets key to value.
func (t *txn) Put(key, value []byte) error {
	t.batch.Put(key, value)
	if t.own != nil {
		t.own.Put(key, value)
	}
	return nil
}

// Delete removes key.
func (t *txn) Delete(key []byte) error {
	t.batch.Delete(key)
	if t.own != nil {
		t.own.Delete(key)
	}
	return nil
}

// Get appends the value of key to dst.
func (t *txn) Get(dst, key []byte) ([]byte, error) {
	if t.batch.Len() > 0 {
		if err := t.index(); err != nil {
			return dst, err
		}
		value, written, err := t.own.get(key)
		if written {
			return append(dst, value...), err
		}
	}
	return t.reader.Get(dst, key)
}

// Cursor returns a cursor before the first pair of rg.
func (t *txn) Cursor(rg driver.Range) (driver.Cursor, error) {
	if t.batch.Len() == 0 {
		return t.reader.Cursor(rg)
	}
	if err := t.index(); err != nil {
		return nil, err
	}
	return t.own.over(t.iterator(rg), rg), nil
}

// index makes the writes so far readable.
func (t *txn) index() error {
	if t.own != nil {
		return nil
	}
	t.own = newIndex()
	return classify(t.batch.Replay(t.own))
}

// Commit writes the batch to the journal.
func (t *txn) Commit() error {
	if t.batch.Len() == 0 {
		return nil
	}
	return t.store.commit(t.batch, t.class)
}

// Close drops the batch.
func (t *txn) Close() error {
	t.store.release(t.batch)
	t.batch = nil
	return nil
}
