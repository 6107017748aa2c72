package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv"
)

// Typed is a bucket whose values are of a type, kept as JSON. Fields may be added to the type and
// removed from it, as encoding/json has it. It needs no closing.
type Typed[T any] struct {
	store  *Store
	bucket string
}

// In returns a bucket of store as one of values of type T. One that is not declared is Invalid.
func In[T any](store *Store, bucket string) (Typed[T], error) {
	_, err := store.bucket("open bucket", bucket)
	return Typed[T]{store, bucket}, err
}

// Get opens, returns the value of key and closes. An absent or expired key is kv.NotFound; a value
// that is not one of T is Invalid.
func (t Typed[T]) Get(ctx context.Context, key []byte) (value T, err error) {
	err = t.store.View(ctx, t.bucket, func(v *View) error {
		value, err = t.decode(v, key)
		return err
	})
	return value, err
}

// Put opens, sets key to value and closes.
func (t Typed[T]) Put(ctx context.Context, key []byte, value T) error {
	text, err := t.encode(key, value)
	if err != nil {
		return err
	}
	return t.store.Put(ctx, t.bucket, key, text)
}

// Change opens, sets key to what fn makes of its value, and closes, as one transaction: nobody else
// changes it in between. An absent or expired key has the zero T. An error of fn changes nothing
// and is returned.
func (t Typed[T]) Change(ctx context.Context, key []byte, fn func(T) (T, error)) error {
	return t.store.Update(ctx, t.bucket, func(tx *Tx) error {
		value, err := t.decode(&tx.View, key)
		if err != nil && !errors.Is(err, kv.NotFound) {
			return err
		}
		if value, err = fn(value); err != nil {
			return err
		}
		text, err := t.encode(key, value)
		if err != nil {
			return err
		}
		return tx.Put(key, text)
	})
}

// All opens, returns the values of the keys that begin with prefix, by key, and closes.
func (t Typed[T]) All(ctx context.Context, prefix []byte) (all map[string]T, err error) {
	err = t.store.View(ctx, t.bucket, func(v *View) error {
		all = map[string]T{}
		for e, err := range v.Scan(prefix) {
			var value T
			if err == nil {
				err = t.parse(e.Key, e.Value, &value)
			}
			if err != nil {
				return err
			}
			all[string(e.Key)] = value
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (t Typed[T]) decode(v *View, key []byte) (value T, err error) {
	text, err := v.Get(key)
	if err == nil {
		err = t.parse(key, text, &value)
	}
	return value, err
}

func (t Typed[T]) parse(key, text []byte, value *T) error {
	if err := json.Unmarshal(text, value); err != nil {
		return t.invalid("get", key, err)
	}
	return nil
}

func (t Typed[T]) encode(key []byte, value T) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, t.invalid("put", key, err)
	}
	return text, nil
}

func (t Typed[T]) invalid(op string, key []byte, err error) error {
	return &kv.Error{Op: op, Kind: kv.Invalid, Err: fmt.Errorf("bucket %s, key %q: %w", t.bucket, key, err),
		Hint: "use the type that the value was put as, or the bytes: Store.Get"}
}
