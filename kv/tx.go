package kv

import (
	"errors"

	"github.com/assaydb/assay/kv/driver"
)

// Tx is a read-write transaction. It sees its own writes. It lives as long as the function it was given to and is used
// by one goroutine at a time.
type Tx struct {
	Snapshot
	w driver.Txn
}

// Put sets key to value. It keeps neither.
func (tx *Tx) Put(key, value []byte) error {
	if err := tx.writable("put"); err != nil {
		return err
	}
	if err := checkPair(&tx.db.caps, key, value); err != nil {
		return tx.db.wrap("put", err)
	}
	if err := tx.w.Put(key, value); err != nil {
		return tx.db.wrap("put", err)
	}
	return nil
}

// Delete removes key. That it is absent is no error.
func (tx *Tx) Delete(key []byte) error {
	if err := tx.writable("delete"); err != nil {
		return err
	}
	if err := checkPair(&tx.db.caps, key, nil); err != nil {
		return tx.db.wrap("delete", err)
	}
	if err := tx.w.Delete(key); err != nil {
		return tx.db.wrap("delete", err)
	}
	return nil
}

// writable refuses writes after the end, and during a scan: what an engine's cursor does when the tree under it
// changes differs from engine to engine (bbolt's may skip a key).
func (tx *Tx) writable(op string) error {
	switch {
	case tx.r == nil:
		return tx.refuse(op)
	case tx.scans > 0:
		return tx.db.wrap(op, &Error{Kind: Invalid, Err: errors.New("a scan of this transaction is running"),
			Hint: "collect the keys first, write after the loop"})
	}
	return nil
}
