package workload

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assaydb/assay/kv"
)

// What a file says of a store that is that of a built-in workload: parameters of that workload. A
// number of things is 500 or 10k.
type (
	ownQueue struct {
		Backlog any
		Payload int
	}
	ownLog struct {
		Events any
		Data   int
	}
	ownFeed    struct{ Messages any }
	ownRecords struct {
		N      any
		Insert string
	}
	ownCommand struct {
		Keys  any
		Value int
	}
)

// ownShape is such a store: its kind, and the parameters of the built-in workload.
type ownShape struct {
	*ownKind
	params map[string]string
}

// shapes returns what a file says of a store that is not keys and values alone: one at most, in a
// file that is right.
func (k ownStore) shapes() (all []ownShape) {
	add := func(kind *ownKind, params map[string]any) {
		shape := ownShape{kind, map[string]string{}}
		for name, value := range params {
			if value != nil && value != 0 && value != "" {
				shape.params[name] = fmt.Sprint(value)
			}
		}
		all = append(all, shape)
	}
	if q := k.Queue; q != nil {
		add(&queueKind, map[string]any{"backlog": q.Backlog, "payload": q.Payload})
	}
	if l := k.Log; l != nil {
		add(&logKind, map[string]any{"events": l.Events, "data": l.Data})
	}
	if f := k.Feed; f != nil {
		add(&feedKind, map[string]any{"messages": f.Messages})
	}
	if r := k.Records; r != nil {
		add(&recordsKind, map[string]any{"n": r.N, "insert": r.Insert})
	}
	if c := k.Command; c != nil {
		add(&commandKind, map[string]any{"keys": c.Keys, "value": c.Value})
	}
	return all
}

// forms returns the ways to do the operations of a file.
func (f ownFile) forms() []Form {
	all := []Form{throughKV}
	for _, name := range slices.Sorted(maps.Keys(f.Stores)) {
		for _, shape := range f.Stores[name].shapes() {
			for _, form := range shape.forms {
				if !slices.ContainsFunc(all, func(other Form) bool { return other.Name == form.Name }) {
					all = append(all, form)
				}
			}
		}
	}
	return all
}

// aboveKV are the forms of workloads whose stores have tables of their own in SQLite.
var aboveKV = []Form{throughKV, {"sql", "tables of its own in SQLite"}}

// onStore returns operation i of a file, on a store that is that of a built-in workload: the
// operation of that workload which does the same.
func (c *ownCheck) onStore(i int, op ownOp, name string, store ownStore, params []Param) (Op, error) {
	if err := c.fits(i, op, name, store); err != nil {
		return Op{}, err
	}
	shape := store.shapes()[0]
	out := shape.complete(op, Op{Name: op.Name, Summary: op.Summary, Workers: op.parts()})
	out.New = shape.runner(out.New, params, op.Batch)
	if _, err := out.New(Env{Engine: "mem", Self: []string{shape.field}}); err != nil {
		return Op{}, c.wrong(path("stores", name, shape.field, shape.counted), err, kv.HintOf(err))
	}
	return out, nil
}

// runner has a Runner of the built-in workload made with the shape that a file gives its store, or
// the parameters records and value do instead.
func (s ownShape) runner(create func(Env) (Runner, error), known []Param, batch int) func(Env) (Runner, error) {
	return func(env Env) (Runner, error) {
		shape := maps.Clone(s.params)
		p := env.params(known)
		if given := p.text("records"); given != "file" {
			shape[s.counted] = given
		}
		switch given := p.text("value"); {
		case given == "file":
		case s.sized == "":
			p.fail("value", given, "leave it out: what "+s.called+" holds has one size")
		default:
			shape[s.sized] = given
		}
		if loaded, said := shape[s.counted]; said {
			p.given = map[string]string{"records": loaded}
			p.count("records", s.least(batch), 1e8)
		}
		if p.err != nil {
			return nil, p.err
		}
		env.Params = shape
		return create(env)
	}
}

// fits returns an error where an operation and its store do not go together.
func (c *ownCheck) fits(i int, op ownOp, name string, store ownStore) error {
	at := func(field string) []string { return path("operations", i, field) }
	kind := store.shapes()[0]
	takes := func(which []string) string {
		if len(which) == 0 {
			return "leave it out"
		}
		return "leave it out: " + strings.Join(which, ", ") + " can have it"
	}
	use := "write " + strings.Join(kind.does, ", ")
	switch {
	case len(store.shapes()) > 1 || store.Keys != (ownKeys{}) ||
		store.Values.Size != 0 || store.Values.To != 0:
		return c.wrong(path("stores", name), fmt.Errorf("it is %s and more", kind.called),
			"leave one of queue, log, feed, records, command, and keys with values")
	case op.Does == "":
		return c.wrong(at("does"), fmt.Errorf("it is missing: %s is %s", name, kind.called), use)
	case !slices.Contains(kind.does, op.Does):
		return c.wrong(at("does"), fmt.Errorf("%s cannot %s", kind.called, op.Does), use)
	case op.Batch > 1 && !slices.Contains(kind.batch, op.Does):
		return c.wrong(at("batch"), fmt.Errorf("%s takes one at a time", op.Does), takes(kind.batch))
	case op.Open != "" && !slices.Contains(kind.open, op.Does):
		return c.wrong(at("open"), fmt.Errorf("%s has no open", op.Does), takes(kind.open))
	case op.Workers > 1 && !slices.Contains(kind.workers, op.Does):
		return c.wrong(at("workers"), fmt.Errorf("several workers %s", op.Does), takes(kind.workers))
	case op.Workers > 1 && len(kind.open) > 0 && op.Open != "once":
		return c.wrong(at("open"), errors.New("several workers open one store each time"), "write open: once")
	case op.Processes > 0 && !slices.Contains(kind.processes, op.Does):
		return c.wrong(at("processes"), fmt.Errorf("several processes %s", op.Does), takes(kind.processes))
	case op.Processes > 0 && op.Workers > 0:
		return c.wrong(at("workers"), errors.New("several workers in several processes"), "leave one of both out")
	}
	for field, there := range map[string]bool{"mix": op.Mix != nil, "phases": op.Phases != nil, "choose": op.Choose != "",
		"scan": op.Scan != 0} {
		if there {
			return c.wrong(at(field), fmt.Errorf("%s has no %s", kind.called, field), "leave it out: does says what is done")
		}
	}
	return nil
}

// as returns the operation of a built-in workload under the name that a file gives it.
func (op ownOp) as(builtIn Op) Op {
	builtIn.Name, builtIn.Summary, builtIn.Core = op.Name, cmp.Or(op.Summary, builtIn.Summary), false
	return builtIn
}
