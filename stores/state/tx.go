package state

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/assaydb/assay/kv"
)

// Tx is a bucket in a transaction. It sees its own writes. It lives as long as the function it was
// given to and is used by one goroutine at a time.
type Tx struct {
	View
	tx *kv.Tx
}

// In returns another bucket of the same kind, in the same transaction. Buckets of another kind are
// in another file: use a call of their own, after this one.
func (tx *Tx) In(name string) (*Tx, error) {
	b, err := tx.b.sibling("update", name)
	if err != nil {
		return nil, err
	}
	return &Tx{View: View{access: tx.access, b: b}, tx: tx.tx}, nil
}

// Put sets key to value, written now. It keeps neither.
func (tx *Tx) Put(key, value []byte) error {
	if err := tx.check("put", key); err != nil {
		return err
	}
	tx.put(tx.b, int(entrySize(key, value)))
	full := tx.full(key)
	return tx.note(tx.tx.Put(full, appendEntry(nil, full, value, tx.b.file.now())))
}

// Delete removes key. That it is absent is no error.
func (tx *Tx) Delete(key []byte) error {
	if err := tx.check("delete", key); err != nil {
		return err
	}
	return tx.note(tx.tx.Delete(tx.full(key)))
}

// CompareAndSwap sets key to new if its value is old, and is kv.Conflict otherwise. A nil old
// stands for a key that is absent or expired; a nil new deletes the key. An empty value is not nil.
func (tx *Tx) CompareAndSwap(key, old, new []byte) error {
	value, err := tx.Get(key)
	switch {
	case errors.Is(err, kv.NotFound):
		value = nil
	case err != nil:
		return err
	}
	if (value == nil) != (old == nil) || !bytes.Equal(value, old) {
		is := "is another one"
		if value == nil {
			is = "is absent"
		}
		return &kv.Error{Op: "compare and swap", Kind: kv.Conflict,
			Err:  fmt.Errorf("bucket %s: the value of key %q %s", tx.b.name, key, is),
			Hint: "read it again and decide again"}
	}
	if new == nil {
		return tx.Delete(key)
	}
	return tx.Put(key, new)
}

// DeleteStale deletes the entries whose keys begin with prefix and that were written before a time,
// or have expired, and returns how many. The zero time deletes the expired ones alone.
func (tx *Tx) DeleteStale(prefix []byte, before time.Time) (n int, err error) {
	var stale [][]byte
	err = tx.each(prefix, func(e Entry) bool {
		if !before.IsZero() && e.Written.Before(before) || tx.b.expired(e.Written.UnixNano()) {
			stale = append(stale, bytes.Clone(e.Key))
		}
		return true
	})
	if err != nil {
		return 0, err
	}
	for _, key := range stale {
		if err := tx.Delete(key); err != nil {
			return 0, err
		}
	}
	return len(stale), nil
}
