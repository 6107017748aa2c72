package memkv

import "github.com/assaydb/assay/kv/driver"

// txn is a transaction: a reader whose root moves on with every write, until Commit makes it the store's.
type txn struct {
	reader
	store *store
}

var _ driver.Txn = (*txn)(nil)

func (t *txn) Put(key, value []byte) error {
	t.root = put(t.root, key, value)
	return nil
}

func (t *txn) Delete(key []byte) error {
	t.root = t.root.delete(key)
	return nil
}

func (t *txn) Commit() error {
	t.store.root.Store(t.root)
	return nil
}

func (t *txn) Close() error {
	t.root = nil
	txns.Put(t)
	return nil
}

// put copies key and value into one allocation and puts them.
func put(root *node, key, value []byte) *node {
	b := make([]byte, len(key)+len(value))
	k, v := b[:len(key):len(key)], b[len(key):]
	copy(k, key)
	copy(v, value)
	return root.put(k, v)
}
