// Barelab is an assay with one more workload, bare: the operations of plain, as plain does them. So
// the two measure the same, one in loops and one in the lab, and must agree.
package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/assaydb/assay"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench/testdata/plain/bare"
	"github.com/assaydb/assay/lab/workload"
)

func main() {
	w := workload.Workload{Name: "bare", Summary: "the engines' own calls, without kv"}
	for _, name := range bare.Operations {
		w.Ops = append(w.Ops, workload.Op{Name: name, Summary: name, Commits: name == "put" || name == "append1",
			New: func(env workload.Env) (workload.Runner, error) { return &runner{env: env, name: name}, nil }})
	}
	assay.Main(assay.Config{Workloads: []workload.Workload{w}})
}

// runner does one operation on one engine.
type runner struct {
	env  workload.Env
	name string
	e    bare.Engine
	do   func() error
}

func (r *runner) Setup(context.Context) (err error) {
	open, ok := bare.Engines[r.env.Engine]
	if !ok || r.env.Durability != kv.Synced && r.name != "get" && r.name != "read100" {
		return &kv.Error{Op: "bare", Engine: r.env.Engine, Kind: kv.Unsupported, Err: errors.New("no such operation")}
	}
	if r.e, err = bare.Loaded(r.name, open, filepath.Join(r.env.Dir, "store")); err != nil {
		return err
	}
	r.do, err = bare.Operation(r.name, r.e)
	return err
}

func (r *runner) Prepare(int) error                  { return nil }
func (r *runner) Do(context.Context, int, int) error { return r.do() }
func (r *runner) Verify(context.Context) error       { return nil }
func (r *runner) Describe() (d workload.Description) { return d }
func (r *runner) Size() (size kv.Size, err error)    { return size, nil }
func (r *runner) Compact(context.Context) error      { return nil }
func (r *runner) Close() error                       { return r.e.Close() }
