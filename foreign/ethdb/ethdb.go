// Package ethdb is a kv.DB as a key-value store of go-ethereum
// (github.com/ethereum/go-ethereum/ethdb).
package ethdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/ethdb"

	"github.com/assaydb/assay/kv"
)

// Store is safe for concurrent use. Its calls have no context: one that writes, and must wait for
// an open iterator because the engine's readers block its writers, gives up after db.Wait().
type Store struct {
	db *kv.DB
	d  kv.Durability
}

var _ ethdb.KeyValueStore = (*Store)(nil)

// New returns db as a store that commits with class d. Closing it closes db.
func New(db *kv.DB, d kv.Durability) *Store { return &Store{db, d} }

// top stands before every key, because a key of ethdb may be empty and one of kv may not.
const top = 'k'

// marker is the key that SyncKeyValue writes.
var marker = []byte("synced")

// background: no call of ethdb has a context.
var background = context.Background()

func at(key []byte) []byte { return append([]byte{top}, key...) }

// between returns the keys in [start, end), of which nil is open.
func between(start, end []byte) kv.Range {
	r := kv.Range{Start: at(start), End: []byte{top + 1}}
	if end != nil {
		r.End = at(end)
	}
	return r
}

// Has reports whether key is present.
func (s *Store) Has(key []byte) (bool, error) { return s.db.Has(background, at(key)) }

// Get returns the value of key. An absent key is kv.NotFound.
func (s *Store) Get(key []byte) ([]byte, error) { return s.db.Get(background, at(key)) }

// write commits b.
func (s *Store) write(d kv.Durability, b *kv.Batch) error {
	ctx, cancel := context.WithTimeout(background, s.db.Wait())
	defer cancel()
	return s.db.Write(ctx, d, b)
}

// Put sets key to value.
func (s *Store) Put(key, value []byte) error {
	var b kv.Batch
	b.Put(at(key), value)
	return s.write(s.d, &b)
}

// Delete removes key.
func (s *Store) Delete(key []byte) error {
	var b kv.Batch
	b.Delete(at(key))
	return s.write(s.d, &b)
}

// DeleteRange removes the keys in [start, end), of which nil is open.
func (s *Store) DeleteRange(start, end []byte) error {
	var b kv.Batch
	b.DeleteRange(between(start, end))
	return s.write(s.d, &b)
}

// Stat returns the settings in force and the space on disk.
func (s *Store) Stat() (string, error) {
	size, err := s.db.Size()
	return fmt.Sprintf("%s %v, %d bytes in %d files", s.db.Engine(), s.db.Settings(), size.Allocated, size.Files), err
}

// SyncKeyValue makes what was written before as durable as the store can: a commit covers the
// weaker ones before it where their class is intact (kv.Promise), and on bbolt. On LevelDB it may
// not.
func (s *Store) SyncKeyValue() error {
	strongest := s.db.Caps().Strongest()
	if s.d == strongest {
		return nil
	}
	var b kv.Batch
	b.Put(marker, nil)
	return s.write(strongest, &b)
}

// Compact compacts the whole store, as kv knows no other.
func (s *Store) Compact(_, _ []byte) error { return s.db.Compact(background) }

// Close closes the store, and ends iterators that are open.
func (s *Store) Close() error { return s.db.Close() }

// NewIterator returns an iterator over the keys that begin with prefix, from prefix and start on.
// It holds a snapshot.
func (s *Store) NewIterator(prefix, start []byte) ethdb.Iterator {
	over := kv.Prefix(at(prefix))
	over.Start = append(over.Start, start...)
	return &iterator{it: s.db.Iter(background, over)}
}

// iterator lets go of its snapshot at the end of the walk, as not everybody calls Release.
type iterator struct {
	it    *kv.Iterator
	ended bool
	err   error
}

func (it *iterator) Next() bool {
	if !it.ended && it.it.Next() {
		return true
	}
	it.Release()
	return false
}

func (it *iterator) Key() []byte   { return bytes.TrimPrefix(it.it.Key(), []byte{top}) } // nil before the first Next
func (it *iterator) Value() []byte { return it.it.Value() }
func (it *iterator) Error() error  { return it.err }

func (it *iterator) Release() {
	if !it.ended {
		it.ended, it.err = true, errors.Join(it.it.Err(), it.it.Close())
	}
}
