package buntkv

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tidwall/buntdb"
)

// txn is BuntDB's read-write transaction. Closed ones are used again.
type txn struct {
	reader
	store  *store
	synced bool   // what its commit is to be
	ended  bool   // by a commit
	tally  *tally // of what it writes; nil in the plain form
}

var txns = sync.Pool{New: func() any { return new(txn) }}

func (t *txn) Put(key, value []byte) error {
	k, v := string(key), string(value)
	if _, _, err := t.tx.Set(k, v, nil); err != nil {
		return classify(err)
	}
	if t.tally != nil {
		t.tally.set(k, v)
	}
	return nil
}

// Delete copies key: BuntDB keeps it until the transaction ends.
func (t *txn) Delete(key []byte) error {
	k := string(key)
	if _, err := t.tx.Delete(k); err != nil {
		if errors.Is(err, buntdb.ErrNotFound) {
			return nil // BuntDB writes nothing for it
		}
		return classify(err)
	}
	if t.tally != nil {
		t.tally.del(k)
	}
	return nil
}

// Commit appends the transaction to the file in one write, and lets others in before it syncs.
func (t *txn) Commit() error {
	t.ended = true
	if err := t.store.commit(t); err != nil || !t.synced {
		return err
	}
	return t.store.sync()
}

func (t *txn) Close() error {
	var err error
	if !t.ended {
		err = classify(t.tx.Rollback())
		t.gate.endWrite()
	}
	if t.tally != nil {
		t.tally.reset()
	}
	t.tx, t.gate, t.store = nil, nil, nil
	txns.Put(t)
	return err
}

// commit ends t in BuntDB and lets the next in.
func (s *store) commit(t *txn) (err error) {
	defer s.gate.endWrite()
	defer func() {
		if p := recover(); p != nil { // BuntDB could not take a half-written commit back, and holds its lock
			err = fmt.Errorf("bunt: %v", p)
			s.failed.Stop(err)
			s.gate.shut(err)
		}
	}()
	if s.frames != nil {
		return s.fail(s.frames.commit(t))
	}
	s.dirty.Store(true)
	return s.fail(classify(t.tx.Commit()))
}
