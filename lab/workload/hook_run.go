package workload

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/kv"
)

// hookRunner opens the store, works and closes it, in this process.
type hookRunner struct {
	hookStore
	work      kvStep
	stateWork stateStep
	length    int // steps in an iteration
	puts      int // how many of them put

	steps  []hookStep // of the slice, length for each iteration
	step   hookStep
	reader *hookReader

	key, value []byte
	batch      kv.Batch
}

// hookStep is one thing done between an open and a close.
type hookStep struct {
	key int // the number of the key; a scan takes the group that it is in
	put bool
}

// What a step does, in the form kv on a store that was opened for it, and in the form state.
type (
	kvStep    func(r *hookRunner, ctx context.Context, db *kv.DB) error
	stateStep func(r *hookRunner, ctx context.Context) error
)

// hookWork returns a New for an operation of one step, which puts 0 times or once.
func hookWork(puts int, work kvStep, stateWork stateStep) func(Env) (Runner, error) {
	return func(env Env) (Runner, error) { return newHookRunner(env, work, stateWork, 1, puts) }
}

func newHookRunner(env Env, work kvStep, stateWork stateStep, length, puts int) (Runner, error) {
	s, err := newHookStore(env)
	if err != nil {
		return nil, err
	}
	r := &hookRunner{hookStore: s, work: work, stateWork: stateWork, length: length, puts: puts}
	r.closed = true
	r.reader = newHookReader(&r.hookStore)
	return r, nil
}

// A session of the tool is 100 operations, of which 80 read.
const (
	sessionLength = 100
	sessionPuts   = 20
)

func newSessionRunner(env Env) (Runner, error) {
	return newHookRunner(env, (*hookRunner).getOrPut, (*hookRunner).stateGetOrPut, sessionLength, sessionPuts)
}

// Prepare draws the keys, and which steps put.
func (r *hookRunner) Prepare(n int) error {
	r.steps = r.steps[:0]
	for range n {
		first := len(r.steps)
		for i := range r.length {
			r.steps = append(r.steps, hookStep{key: r.drawKey(), put: i < r.puts})
		}
		session := r.steps[first:]
		r.rand.Shuffle(len(session), func(i, j int) { session[i], session[j] = session[j], session[i] })
	}
	return nil
}

// Do does one iteration.
func (r *hookRunner) Do(ctx context.Context, _, i int) error {
	for _, r.step = range r.steps[i*r.length : (i+1)*r.length] {
		if err := r.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// do does one step.
func (r *hookRunner) do(ctx context.Context) error {
	if r.tool != nil {
		return r.stateWork(r, ctx)
	}
	db, err := r.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(r.work(r, ctx, db), db.Close())
}

// Verify compares the store with what was written.
func (r *hookRunner) Verify(ctx context.Context) error { return r.verify(ctx, keysOf(r.steps)) }

// Whole: a small store is compared in whole.
func (r *hookRunner) Whole() bool { return len(r.versions) <= allKeys }

// Every is as many iterations as put as often as there are keys: BuntDB, whose file grows with
// every put, and who reads all of it to open, then holds each key at most about twice.
func (r *hookRunner) Every() int {
	if r.puts == 0 {
		return 0
	}
	return max(len(r.versions)/r.puts, 1)
}

// Restore loads the store again.
func (r *hookRunner) Restore(ctx context.Context) error {
	if err := r.Verify(ctx); err != nil {
		return err
	}
	entries, err := os.ReadDir(r.env.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(r.env.Dir, e.Name())); err != nil {
			return err
		}
	}
	return r.Setup(ctx)
}

func keysOf(steps []hookStep) []int {
	keys := make([]int, len(steps))
	for i, s := range steps {
		keys[i] = s.key
	}
	return keys
}

func (r *hookRunner) nothing(context.Context, *kv.DB) error { return nil }

func (r *hookRunner) put(ctx context.Context, db *kv.DB) error {
	r.batch.Reset()
	r.batch.Put(r.draft())
	if err := db.Write(ctx, r.env.Durability, &r.batch); err != nil {
		return err
	}
	r.versions[r.step.key]++
	return nil
}

// draft returns the step's key and its next value. They hold until the next call.
func (r *hookRunner) draft() (key, value []byte) {
	i := r.step.key
	r.key = appendHookKey(r.key[:0], i)
	r.value = r.values.append(r.value[:0], uint64(i), r.versions[i]+1)
	return r.key, r.value
}

func (r *hookRunner) get(ctx context.Context, db *kv.DB) error {
	return r.reader.get(ctx, db, r.step.key)
}

func (r *hookRunner) scan(ctx context.Context, db *kv.DB) error {
	return r.reader.scan(ctx, db, r.step.key)
}

func (r *hookRunner) putGet(ctx context.Context, db *kv.DB) error {
	if err := r.put(ctx, db); err != nil {
		return err
	}
	return r.get(ctx, db)
}

func (r *hookRunner) getOrPut(ctx context.Context, db *kv.DB) error {
	if r.step.put {
		return r.put(ctx, db)
	}
	return r.get(ctx, db)
}
