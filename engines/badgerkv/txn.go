package badgerkv

// txn is a transaction of Badger's, which holds what it writes in memory until the commit. A cursor
// sees what was written before it was made.
type txn struct {
	reader
	size  int64  // bytes that the commit will write to Badger's log, about
	arena []byte // copies of keys and values: Badger refers to them until the commit, also one that hangs
}

// Put sets key to value.
func (t *txn) Put(key, value []byte) error { return classify(t.txn.Set(t.copy(key, value))) }

// Delete removes key.
func (t *txn) Delete(key []byte) error {
	key, _ = t.copy(key, nil)
	return classify(t.txn.Delete(key))
}

// copy returns copies of both from the arena.
func (t *txn) copy(key, value []byte) (k, v []byte) {
	const chunk = 4 << 10
	n, size := len(t.arena), len(key)+len(value)
	if size > cap(t.arena)-n {
		n, t.arena = 0, make([]byte, 0, max(size, min(chunk, 2*cap(t.arena)), 128))
	}
	t.size += int64(size) + 32
	t.arena = append(append(t.arena, key...), value...)
	return t.arena[n : n+len(key) : n+len(key)], t.arena[n+len(key) : n+size : n+size]
}

// Commit writes everything to Badger's log.
func (t *txn) Commit() error { return t.store.trouble.commit(t.txn, t.size) }
