package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/state"
)

// allKeys is up to which number of keys the whole store is compared after a slice. Of a larger one
// the keys that the slice was about are, and sampleKeys others.
const (
	allKeys    = 10_000
	sampleKeys = 100
)

// accept is called for a key with the version that the store holds, 0 if it is absent.
type accept func(i int, version uint64) error

// comparison calls accept for every key of a small store, and for the touched keys and a sample of
// a large one.
type comparison struct {
	values values
	count  int   // of the keys that there may be
	some   []int // the keys to look at, in order; nil is all
	accept accept
	next   int // of all
}

func (s *hookStore) comparison(touched []int, accept accept) *comparison {
	c := &comparison{values: s.values, count: len(s.versions), accept: accept}
	if c.count > allKeys {
		for range sampleKeys {
			touched = append(touched, s.sample.IntN(c.count))
		}
		slices.Sort(touched)
		c.some = slices.Compact(touched)
	}
	return c
}

// db compares a store of kv.
func (c *comparison) db(ctx context.Context, db *kv.DB) error {
	return db.View(ctx, func(snap *kv.Snapshot) error {
		if c.some != nil {
			return c.get(snap.Get)
		}
		for k, v := range snap.Scan(kv.Range{}) {
			if err := c.pair(k, v); err != nil {
				return err
			}
		}
		if err := snap.Err(); err != nil {
			return err
		}
		return c.absent(c.count)
	})
}

// tool compares a store of state.
func (c *comparison) tool(ctx context.Context, tool *hookTool) error {
	return tool.View(ctx, stateBucket, func(v *state.View) error {
		if c.some != nil {
			return c.get(v.Get)
		}
		for e, err := range v.Scan(nil) {
			if err == nil {
				err = c.pair(e.Key, e.Value)
			}
			if err != nil {
				return err
			}
		}
		return c.absent(c.count)
	})
}

// pair takes the next pair of a scan.
func (c *comparison) pair(k, v []byte) error {
	n, ok := kv.LastUint64(k)
	if !ok || len(k) != hookKeySize || n < uint64(c.next) || n >= uint64(c.count) {
		return fmt.Errorf("a key that was never written: %x", k)
	}
	if err := c.absent(int(n)); err != nil {
		return err
	}
	version, err := c.values.version(v, n)
	if err != nil {
		return err
	}
	c.next++
	return c.accept(int(n), version)
}

// absent takes it that the keys from the next up to end, exclusive, are not there.
func (c *comparison) absent(end int) error {
	for ; c.next < end; c.next++ {
		if err := c.accept(c.next, 0); err != nil {
			return err
		}
	}
	return nil
}

// get looks at some keys.
func (c *comparison) get(get func(key []byte) ([]byte, error)) error {
	var key []byte
	for _, i := range c.some {
		key = appendHookKey(key[:0], i)
		var version uint64
		value, err := get(key)
		switch {
		case err == nil:
			version, err = c.values.version(value, uint64(i))
		case errors.Is(err, kv.NotFound):
			err = nil
		}
		if err == nil {
			err = c.accept(i, version)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
