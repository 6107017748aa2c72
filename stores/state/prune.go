package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/assaydb/assay/kv"
)

// A cache with a bound or a TTL is pruned now and then: its expired entries are deleted, and its
// oldest, until it has three quarters of its bound. That is when a quarter of the bound was put
// since the last time, which is what putsKey counts. So there is never more in it than the bound,
// and the scan of all is paid once for many puts.

// putsKey is an entry outside of all buckets: by the name of a cache how many bytes were put into
// it since it was pruned, as JSON.
var putsKey = []byte{'p'}

// quarter returns after how many bytes a cache is pruned, 0 if it never is.
func (b *bucket) quarter() int64 {
	switch {
	case b.max > 0:
		return max(b.max/4, 1)
	case b.ttl > 0:
		return DefaultPrune
	}
	return 0
}

// DefaultPrune is after how many bytes of puts the expired entries of a Cache with a TTL and
// without a Max are deleted.
const DefaultPrune = 1 << 20

// put notes that size bytes were put into b.
func (a *access) put(b *bucket, size int) {
	if b.quarter() == 0 {
		return
	}
	if a.puts == nil {
		a.puts = map[*bucket]int64{}
	}
	a.puts[b] += int64(size)
}

// prune prunes the caches that the transaction put enough into.
func (tx *Tx) prune() error {
	if tx.puts == nil {
		return nil
	}
	counts := map[string]int64{}
	known, err := tx.s.Get(putsKey)
	if err == nil {
		if known, _, err = parseEntry(putsKey, known); err == nil {
			err = json.Unmarshal(known, &counts)
		}
	}
	if err != nil && !errors.Is(err, kv.NotFound) {
		return tx.note(err)
	}
	for b, size := range tx.puts {
		before, pruned := counts[b.name]
		counts[b.name] = before + size
		if pruned && counts[b.name] < b.quarter() {
			continue
		}
		if err := (&Tx{View: View{access: tx.access, b: b}, tx: tx.tx}).pruneBucket(); err != nil {
			return err
		}
		counts[b.name] = 0
	}
	value, err := json.Marshal(counts)
	if err != nil {
		return err
	}
	return tx.note(tx.tx.Put(putsKey, appendEntry(nil, putsKey, value, tx.b.file.now())))
}

// pruneBucket deletes what is expired, and the oldest while there is more than three quarters of
// the bound.
func (tx *Tx) pruneBucket() error {
	type aged struct {
		key     []byte
		written int64
		size    int64
	}
	var all, gone []aged
	total := int64(0)
	err := tx.each(nil, func(e Entry) bool {
		a := aged{slices.Clone(e.Key), e.Written.UnixNano(), entrySize(e.Key, e.Value)}
		if tx.b.expired(a.written) {
			gone = append(gone, a)
		} else {
			all = append(all, a)
			total += a.size
		}
		return true
	})
	if err != nil {
		return err
	}
	if most := tx.b.max - tx.b.max/4; tx.b.max > 0 && total > most {
		slices.SortStableFunc(all, func(a, b aged) int { return cmp.Compare(a.written, b.written) })
		for len(all) > 0 && total > most {
			gone, total, all = append(gone, all[0]), total-all[0].size, all[1:]
		}
	}
	for _, a := range gone {
		if err := tx.Delete(a.key); err != nil {
			return err
		}
	}
	return nil
}

// entrySize is what an entry counts towards the bound of its cache.
func entrySize(key, value []byte) int64 { return int64(len(key) + len(value) + headerSize) }
