package workload

import (
	"context"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv"
)

// staleRunner deletes the keys of a prefix that are older than a time. The version of a value is
// the time at which it was written, in milliseconds of a clock of the runner's own.
type staleRunner struct {
	hookStore
	now         uint64
	groups      []staleGroup // of the slice, by iteration
	group       staleGroup
	deleteStale func(*kv.Tx) error // deleteIn, bound once

	from, end []byte
	doomed    [groupSize]int // numbers of the keys to delete
	key       []byte
	value     []byte
	batch     kv.Batch
}

// staleGroup is a prefix, and how old its keys will be.
type staleGroup struct {
	number int
	age    [groupSize]uint64 // by key of the group, 0 if it is fresh
}

// Each reset is a span of time later than the one before. It writes the fresh keys at its own time,
// the stale ones in the first half of its span, and what is older than the middle is stale.
const staleSpan = 1000

func newStaleRunner(env Env) (Runner, error) {
	s, err := newHookStore(env)
	if err != nil {
		return nil, err
	}
	r := &staleRunner{hookStore: s, now: staleSpan}
	r.closed = true
	r.deleteStale = r.deleteIn
	return r, nil
}

// Prepare draws the groups, and which of their keys will be how old.
func (r *staleRunner) Prepare(n int) error {
	r.groups = r.groups[:0]
	for range n {
		g := staleGroup{number: r.drawKey() / groupSize}
		first, end := r.bounds(g.number)
		for i := range (end - first) / 2 {
			g.age[i] = staleSpan/2 + 1 + r.rand.Uint64N(staleSpan/2-1)
		}
		r.rand.Shuffle(end-first, func(i, j int) { g.age[i], g.age[j] = g.age[j], g.age[i] })
		r.groups = append(r.groups, g)
	}
	return nil
}

// Reset writes every key of iteration i's group, the stale ones at a time long ago.
func (r *staleRunner) Reset(ctx context.Context, _, i int) error {
	r.group = r.groups[i]
	r.now += staleSpan
	if r.tool != nil {
		return r.stateReset(ctx)
	}
	first, end := r.bounds(r.group.number)
	r.batch.Reset()
	for k := first; k < end; k++ {
		r.versions[k] = r.now - r.group.age[k-first]
		r.key = appendHookKey(r.key[:0], k)
		r.value = r.values.append(r.value[:0], uint64(k), r.versions[k])
		r.batch.Put(r.key, r.value)
	}
	return r.with(ctx, func(db *kv.DB) error { return db.Write(ctx, r.env.Durability, &r.batch) })
}

// Do deletes the stale keys of iteration i's group.
func (r *staleRunner) Do(ctx context.Context, _, i int) error {
	r.group = r.groups[i]
	if r.tool != nil {
		return r.stateDelete(ctx)
	}
	db, err := r.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(db.Update(ctx, r.env.Durability, r.deleteStale), db.Close())
}

func (r *staleRunner) deleteIn(tx *kv.Tx) error {
	g := r.group.number
	r.from, r.end = kv.AppendUint64(r.from[:0], uint64(g)), kv.AppendUint64(r.end[:0], uint64(g)+1)
	first, end := r.bounds(g)
	next, doomed := first, r.doomed[:0]
	for k, v := range tx.Scan(kv.Range{Start: r.from, End: r.end}) {
		if next == end {
			return fmt.Errorf("scan: key %x after the last", k)
		}
		written, err := r.checkPair(k, v, next)
		if err != nil {
			return err
		}
		if written < r.now-staleSpan/2 {
			doomed = append(doomed, next)
		}
		next++
	}
	if err := tx.Err(); err != nil {
		return err
	}
	if next < end || len(doomed) != (end-first)/2 {
		return fmt.Errorf("scan: %d keys, %d of them stale; want %d and %d", next-first, len(doomed), end-first,
			(end-first)/2)
	}
	for _, i := range doomed {
		r.key = appendHookKey(r.key[:0], i)
		if err := tx.Delete(r.key); err != nil {
			return err
		}
		r.versions[i] = 0
	}
	return nil
}

// Verify compares the store with what was written and deleted.
func (r *staleRunner) Verify(ctx context.Context) error {
	var keys []int
	for _, g := range r.groups {
		first, end := r.bounds(g.number)
		for i := first; i < end; i++ {
			keys = append(keys, i)
		}
	}
	return r.verify(ctx, keys)
}
