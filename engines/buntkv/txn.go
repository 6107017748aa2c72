package buntkv

import (
	"fmt"

	"github.com/tidwall/buntdb"
)

// txn is BuntDB's read-write transaction.
type txn struct {
	*reader
	store  *store
	synced bool // what its commit is to be
	ended  bool // by a commit
	tally  tally
}

func (t *txn) Put(key, value []byte) error {
	k, v := string(key), string(value)
	_, _, err := t.tx.Set(k, v, nil)
	if err == nil && t.store.frames != nil {
		t.tally.add(k, setPart(k, v))
	}
	return err
}

// Delete copies key: BuntDB keeps it until the transaction ends.
func (t *txn) Delete(key []byte) error {
	k := string(key)
	switch _, err := t.tx.Delete(k); {
	case err == buntdb.ErrNotFound:
		return nil // and nothing will be written
	case err != nil:
		return err
	}
	if t.store.frames != nil {
		t.tally.add(k, delPart(k))
	}
	return nil
}

// Commit appends the transaction to the file in one write, and lets others in before it syncs.
func (t *txn) Commit() error {
	t.ended = true
	if err := t.commit(); err != nil || !t.synced {
		return t.store.fail(err)
	}
	return t.store.sync()
}

func (t *txn) commit() (err error) {
	var broken error
	defer func() {
		if p := recover(); p != nil { // BuntDB could not take a half-written commit back, and holds its lock
			err = fmt.Errorf("bunt: %v", p)
			broken = err
		}
		t.gate.endWrite(broken)
	}()
	if t.store.frames != nil {
		return t.store.frames.commit(t)
	}
	t.store.dirty.Store(true)
	return t.tx.Commit()
}

func (t *txn) Close() (err error) {
	if !t.ended {
		err = t.tx.Rollback()
		t.gate.endWrite(nil)
	}
	t.reader.put()
	return err
}
