package levelkv

import (
	"sync"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"

	"github.com/assaydb/assay/kv/overlay"
)

// txn is a transaction: a batch that is written as a whole by Commit. Nobody else writes while it
// is open, so that it reads the store itself. A transaction that reads after it has written keeps
// an index of its writes, too.
//
// goleveldb has transactions of its own; they write tables instead of the journal and sync them,
// whatever is asked.
type txn struct {
	reader
	how   *opt.WriteOptions
	batch leveldb.Batch
	own   *overlay.Writes // all that is in batch; nil until something is read
}

var txns = sync.Pool{New: func() any { return new(txn) }} // of Apply

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

// Commit writes the batch to the journal.
func (t *txn) Commit() error { return classify(t.db.Write(&t.batch, t.how)) }

// Close drops the batch, and keeps its memory unless that is much.
func (t *txn) Close() error {
	if t.own = nil; len(t.batch.Dump()) > 64<<10 {
		t.batch = leveldb.Batch{}
	}
	t.batch.Reset()
	return nil
}
