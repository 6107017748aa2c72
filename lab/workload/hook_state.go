package workload

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/state"
)

const (
	stateForm   = "state"
	stateBucket = "hook"
	stateFile   = "state.db" // what package state calls the file of such a bucket, in its folder
)

// hookTool is the store as package state keeps it. Each of its calls opens, works and closes.
type hookTool struct {
	*state.Store
	at time.Time // what its clock says; zero is the time
}

// newHookTool returns the store of env. Calls wait for locks as long as wait says, 0 is as state
// does by itself.
func newHookTool(env Env, wait time.Duration) (*hookTool, error) {
	t := &hookTool{}
	var err error
	t.Store, err = state.New(env.url("store"), &state.Options{
		Buckets:    []state.Bucket{{Name: stateBucket}},
		Durability: env.Durability,
		Wait:       wait,
		Logger:     env.Logger,
		Now:        t.now,
	})
	return t, err
}

func (t *hookTool) now() time.Time {
	if t.at.IsZero() {
		return time.Now()
	}
	return t.at
}

// fillTool loads version 1 of every key.
func (s *hookStore) fillTool(ctx context.Context) error {
	for next := 0; next < len(s.versions); {
		err := s.tool.Update(ctx, stateBucket, func(tx *state.Tx) error {
			for end := min(next+loadBatch, len(s.versions)); next < end; next++ {
				if err := tx.Put(s.first(next)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *hookRunner) stateNothing(ctx context.Context) error {
	return r.tool.View(ctx, stateBucket, func(*state.View) error { return nil })
}

func (r *hookRunner) statePut(ctx context.Context) error {
	key, value := r.draft()
	if err := r.tool.Put(ctx, stateBucket, key, value); err != nil {
		return err
	}
	r.versions[r.step.key]++
	return nil
}

func (r *hookRunner) stateGet(ctx context.Context) error {
	r.key = appendHookKey(r.key[:0], r.step.key)
	value, err := r.tool.Get(ctx, stateBucket, r.key)
	return r.checkGot(value, err, r.versions[r.step.key])
}

// statePutGet does both in one transaction, for which state opens once, as kv does for its two.
func (r *hookRunner) statePutGet(ctx context.Context) error {
	key, value := r.draft()
	err := r.tool.Update(ctx, stateBucket, func(tx *state.Tx) error {
		if err := tx.Put(key, value); err != nil {
			return err
		}
		got, err := tx.Get(key)
		return r.checkGot(got, err, r.versions[r.step.key]+1)
	})
	if err != nil {
		return err
	}
	r.versions[r.step.key]++
	return nil
}

// checkGot checks what the get of the step's key returned.
func (r *hookRunner) checkGot(value []byte, err error, version uint64) error {
	if err != nil {
		return fmt.Errorf("key %d: %w", r.step.key, err)
	}
	return r.values.check(value, uint64(r.step.key), version)
}

func (r *hookRunner) stateScan(ctx context.Context) error {
	g := r.step.key / groupSize
	r.key = kv.AppendUint64(r.key[:0], uint64(g))
	entries, err := r.tool.Scan(ctx, stateBucket, r.key)
	if err != nil {
		return err
	}
	next, end := r.bounds(g)
	if len(entries) != end-next {
		return fmt.Errorf("scan: %d keys, want %d", len(entries), end-next)
	}
	for i, e := range entries {
		if _, err := r.checkPair(e.Key, e.Value, next+i); err != nil {
			return err
		}
	}
	return nil
}

func (r *hookRunner) stateGetOrPut(ctx context.Context) error {
	if r.step.put {
		return r.statePut(ctx)
	}
	return r.stateGet(ctx)
}

// stateReset writes every key of the group at its age.
func (r *staleRunner) stateReset(ctx context.Context) error {
	first, end := r.bounds(r.group.number)
	return r.tool.Update(ctx, stateBucket, func(tx *state.Tx) error {
		for k := first; k < end; k++ {
			r.versions[k] = r.now - r.group.age[k-first]
			r.tool.at = time.UnixMilli(int64(r.versions[k]))
			r.key = appendHookKey(r.key[:0], k)
			r.value = r.values.append(r.value[:0], uint64(k), r.versions[k])
			if err := tx.Put(r.key, r.value); err != nil {
				return err
			}
		}
		return nil
	})
}

// stateDelete deletes the group's stale keys. state knows when each was written.
func (r *staleRunner) stateDelete(ctx context.Context) error {
	r.from = kv.AppendUint64(r.from[:0], uint64(r.group.number))
	n, err := r.tool.DeleteStale(ctx, stateBucket, r.from, time.UnixMilli(int64(r.now-staleSpan/2)))
	if err != nil {
		return err
	}
	first, end := r.bounds(r.group.number)
	if want := (end - first) / 2; n != want {
		return fmt.Errorf("scan: %d keys deleted, want %d", n, want)
	}
	for k := first; k < end; k++ {
		if r.group.age[k-first] > 0 {
			r.versions[k] = 0
		}
	}
	return nil
}

// verifyTool compares the store, which no process has open now, with what was acknowledged.
func (r *processRunner) verifyTool(ctx context.Context, c *comparison) error {
	tool, err := newHookTool(r.env, atOnce)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := tool.View(ctx, stateBucket, func(*state.View) error { return nil }); err != nil {
		return r.notFree(err)
	}
	r.seen.openAfter = time.Since(start)
	if r.mayCheck() {
		if err := tool.Check(ctx); err != nil {
			return err
		}
	}
	return c.tool(ctx, tool)
}

// inState does t by one call, and returns when its transaction had begun. The call closes before it
// returns, so that what it acknowledges survives the death of the process at every class.
func (t hookTask) inState(ctx context.Context, stdout io.Writer) (begun time.Time, err error) {
	store, err := state.New(t.url, t.stateOptions())
	if err != nil {
		return begun, err
	}
	key, version := appendHookKey(nil, t.key), t.version
	if version == 0 {
		err = store.View(ctx, stateBucket, func(v *state.View) error {
			begun = time.Now()
			value, err := v.Get(key)
			if err == nil {
				version, err = t.values.version(value, uint64(t.key))
			}
			return err
		})
	} else {
		err = store.Update(ctx, stateBucket, func(tx *state.Tx) error {
			begun = time.Now()
			return tx.Put(key, t.values.append(nil, uint64(t.key), version))
		})
	}
	if err == nil {
		_, err = fmt.Fprintf(stdout, lineDone, version)
	}
	return begun, err
}
