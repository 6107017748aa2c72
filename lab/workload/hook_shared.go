package workload

import (
	"context"

	"github.com/assaydb/assay/kv"
)

// sharedRunner reads through one handle that stays open, with as many goroutines as there are
// readers.
type sharedRunner struct {
	hookStore
	read    func(r *hookReader, ctx context.Context, db *kv.DB, i int) error
	readers []*hookReader // by worker
	keys    []int         // of the slice, by iteration
}

// sharedRead returns a New for an operation of so many workers.
func sharedRead(workers int, read func(*hookReader, context.Context, *kv.DB, int) error) func(Env) (Runner, error) {
	return func(env Env) (Runner, error) {
		s, err := newHookStore(env)
		if err != nil {
			return nil, err
		}
		r := &sharedRunner{hookStore: s, read: read}
		for range workers {
			r.readers = append(r.readers, newHookReader(&r.hookStore))
		}
		return r, nil
	}
}

// Prepare draws the keys.
func (r *sharedRunner) Prepare(n int) error {
	r.keys = r.keys[:0]
	for range n {
		r.keys = append(r.keys, r.drawKey())
	}
	return nil
}

// Do reads once.
func (r *sharedRunner) Do(ctx context.Context, worker, i int) error {
	return r.read(r.readers[worker], ctx, r.db, r.keys[i])
}

// Verify compares the store with what was written.
func (r *sharedRunner) Verify(ctx context.Context) error { return r.verify(ctx, r.keys) }
