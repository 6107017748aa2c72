package workload

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/assaydb/assay/kv"
)

// builtIn are the workloads of this package, in the order in which they are shown.
var builtIn = []Workload{hook, events, feeds, jobs, records, ycsb}

var registry struct {
	sync.RWMutex
	own []Workload
}

// Register adds a workload of a program's own to those of this package. It panics where w is not
// whole, or its name is taken: both are mistakes in the program, found when it starts. Forms is
// through kv alone where it is nil.
//
// The processes that measure are the same program, started again: register before [assay.Main], in
// all of them.
//
// [assay.Main]: https://pkg.go.dev/github.com/assaydb/assay#Main
func Register(w Workload) {
	if w.Forms == nil {
		w.Forms = []Form{throughKV}
	}
	if wrong := w.wrong(); wrong != "" {
		panic(fmt.Sprintf("workload: register %q: %s", w.Name, wrong))
	}
	if _, ok := Lookup(w.Name); ok {
		panic(fmt.Sprintf("workload: register %q: registered twice", w.Name))
	}
	registry.Lock()
	defer registry.Unlock()
	registry.own = append(registry.own, w)
}

// wrong says what is not right about a workload that a program brings, "" if all is.
func (w Workload) wrong() string {
	switch {
	case !isName(w.Name):
		return "a name has letters, digits, - and _"
	case w.Summary == "":
		return "no summary"
	case len(w.Ops) == 0:
		return "no operations"
	}
	seen := map[string]bool{}
	for _, op := range w.Ops {
		switch {
		case !isName(op.Name):
			return fmt.Sprintf("operation %q: a name has letters, digits, - and _", op.Name)
		case seen[op.Name]:
			return fmt.Sprintf("operation %q stands there twice", op.Name)
		case op.New == nil:
			return fmt.Sprintf("operation %q has no New", op.Name)
		case op.Workers < 0 || op.Items < 0 || op.Cycle < 0:
			return fmt.Sprintf("operation %q has a negative number", op.Name)
		}
		seen[op.Name] = true
	}
	seen = map[string]bool{}
	for _, p := range w.Params {
		if !isName(p.Name) || seen[p.Name] || p.Default == "" {
			return fmt.Sprintf("parameter %q: it needs a name of letters, digits, - and _, once, and a default", p.Name)
		}
		seen[p.Name] = true
	}
	return ""
}

// isName reports whether s can stand in WORKLOAD/OPERATION?PARAM=VALUE.
func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// All returns the workloads, in the order in which they are shown: those of this package, then
// those registered.
func All() []Workload {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Concat(builtIn, registry.own)
}

// A Job is an operation on a store that is open through kv: what is particular to it. [OnKV] makes
// a Runner of it, which opens, measures and closes the store. The calls are: Load, then any number
// of slices: Prepare, Do for each worker and iteration, Verify. Do is called concurrently by
// different workers, everything else by one goroutine.
//
// On the engine null, which keeps nothing, a Job that checks what it reads fails; leave null out,
// or look at Env.Engine.
type Job interface {
	// Load fills the new store. The store is then closed and opened again.
	Load(ctx context.Context, db *kv.DB) error

	// Prepare draws the inputs of the next n iterations, and is not timed.
	Prepare(n int) error

	// Do is iteration i of the slice, timed. It checks what it reads, or keeps it for Verify.
	Do(ctx context.Context, db *kv.DB, worker, i int) error

	// Verify compares the store with what the slice should have left there. It is not timed. What
	// it returns ends the cell: an engine that answers wrongly has no time.
	Verify(ctx context.Context, db *kv.DB) error
}

// OnKV returns the Runner that does job on one store of env.
func OnKV(env Env, job Job) Runner { return &jobRunner{kvStore: newKVStore(env), job: job} }

// jobRunner is a Job with everything around it.
type jobRunner struct {
	kvStore
	job Job
}

var _ Runner = (*jobRunner)(nil)

func (r *jobRunner) Setup(ctx context.Context) error {
	return r.create(ctx, func(db *kv.DB) error { return r.job.Load(ctx, db) })
}

func (r *jobRunner) Prepare(n int) error { return r.job.Prepare(n) }

func (r *jobRunner) Do(ctx context.Context, worker, i int) error {
	return r.job.Do(ctx, r.db, worker, i)
}

func (r *jobRunner) Verify(ctx context.Context) error { return r.job.Verify(ctx, r.db) }

// Count returns the parameter called name, of those that a workload has, as a number of things from
// least to most: 100, 10k, 1M. What is none is Invalid, for New to return.
func (e Env) Count(known []Param, name string, least, most int) (int, error) {
	p := e.params(known)
	n := p.count(name, least, most)
	return n, p.err
}

// Text returns the parameter called name, of those that a workload has, or its default.
func (e Env) Text(known []Param, name string) string { return e.params(known).text(name) }
