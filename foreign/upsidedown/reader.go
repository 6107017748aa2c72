package upsidedown

import (
	"context"
	"errors"

	store "github.com/blevesearch/upsidedown_store_api"

	"github.com/assaydb/assay/kv"
)

// reader is a held snapshot.
type reader struct {
	*kv.Snapshot
	end context.CancelFunc
}

// Close closes the snapshot.
func (r reader) Close() error {
	defer r.end()
	return r.Snapshot.Close()
}

// Get returns a copy of the value of key, nil if there is none.
func (r reader) Get(key []byte) ([]byte, error) {
	v, err := r.Snapshot.Get(key)
	if errors.Is(err, kv.NotFound) {
		return nil, nil
	}
	return v, err
}

func (r reader) MultiGet(keys [][]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for i, k := range keys {
		var err error
		if values[i], err = r.Get(k); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (r reader) PrefixIterator(prefix []byte) store.KVIterator { return r.iterate(kv.Prefix(prefix)) }

func (r reader) RangeIterator(start, end []byte) store.KVIterator {
	return r.iterate(kv.Range{Start: start, End: end})
}

func (r reader) iterate(over kv.Range) store.KVIterator {
	it := r.Iter(over)
	return &iterator{it, it.Next()}
}

// iterator stands on a pair, where kv's stands before the next one.
type iterator struct {
	*kv.Iterator
	valid bool
}

func (it *iterator) Seek(key []byte) {
	it.Iterator.Seek(key)
	it.Next()
}

func (it *iterator) Next()                           { it.valid = it.Iterator.Next() }
func (it *iterator) Valid() bool                     { return it.valid }
func (it *iterator) Current() ([]byte, []byte, bool) { return it.Key(), it.Value(), it.valid }
func (it *iterator) Close() error                    { return errors.Join(it.Err(), it.Iterator.Close()) }
