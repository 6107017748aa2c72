package badgerkv

import (
	"github.com/assaydb/assay/kv/driver"
)

// txn is a transaction of Badger's, which holds what it writes in memory until the commit. A cursor sees what was
// written before it was made.
type txn struct {
	reader
	store *store
	size  int64  // bytes that the commit will write
	arena []byte // copies of keys and values: Badger refers to them until the commit
}

var _ driver.Txn = (*txn)(nil)

// Put sets key to value.
func (t *txn) Put(key, value []byte) error {
	t.size += pairSize(key, value)
	return classify(t.txn.Set(t.copy(key), t.copy(value)))
}

// Delete removes key.
func (t *txn) Delete(key []byte) error {
	t.size += pairSize(key, nil)
	return classify(t.txn.Delete(t.copy(key)))
}

// copy returns a copy of b from the arena.
func (t *txn) copy(b []byte) []byte {
	const chunk = 4 << 10
	if len(b) > cap(t.arena)-len(t.arena) {
		t.arena = make([]byte, 0, max(len(b), min(chunk, 2*cap(t.arena)), 128))
	}
	n := len(t.arena)
	t.arena = append(t.arena, b...)
	return t.arena[n:len(t.arena):len(t.arena)]
}

// Commit writes everything to Badger's log.
func (t *txn) Commit() error {
	if err := t.store.room.take(t.size); err != nil {
		return driver.NotDone(err)
	}
	return t.store.committed(t.txn.Commit())
}
