package workload

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/assaydb/assay/kv"
)

// ownFile is a workload as a YAML file has it. workload.schema.json is its contract.
type ownFile struct {
	Summary    string
	Promise    string
	Stores     map[string]ownStore
	Operations []ownOp
}

type ownStore struct {
	Keys   ownKeys
	Values struct{ Size, To int }

	// Instead of both it may be the store of a built-in workload: see shapes.
	Queue   *ownQueue
	Log     *ownLog
	Feed    *ownFeed
	Records *ownRecords
	Command *ownCommand
}

type ownKeys struct {
	Count any // 500 or 10k
	Order string
	Size  int // bytes
}

type ownOp struct {
	Name, Summary, Store string
	Does                 string // with a store that is more than keys and values
	Batch                int
	Compact              bool
	Mix                  *ownMix
	Phases               []ownPhase
	Choose               string
	Scan                 int
	Workers, Processes   int
	Open                 string
}

// parts returns how many goroutines or processes have records of their own.
func (op ownOp) parts() int { return max(op.Workers, op.Processes, 1) }

type ownMix struct{ Read, Update, Insert, Modify, Scan int }

type ownPhase struct {
	Iterations int
	Mix        ownMix
}

// mostOwn is the longest file of a workload, in bytes: it is handed to the processes that measure
// in their command lines.
const mostOwn = 16 << 10

// Own returns the workload that is in text, YAML by workload.schema.json, and the class that it
// asks for, "" if none. The workload has the name of the file, without folders and ".yaml" or
// ".yml". An error is Invalid, and names the file, the line, the field, and what to write there.
func Own(file string, text []byte) (w Workload, promise string, err error) {
	name := filepath.Base(file)
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
		name = strings.TrimSuffix(name, ext)
	} else {
		file += ".yaml"
	}
	c := ownCheck{name: name, file: file, text: text}
	if len(text) > mostOwn {
		return w, "", c.wrong(nil, fmt.Errorf("%d bytes", len(text)),
			fmt.Sprintf("write a workload in %d bytes at most", mostOwn))
	}
	var own ownFile
	if err := c.read(text, &own); err != nil {
		return w, "", err
	}
	w = Workload{Name: name, Summary: own.Summary, Forms: own.forms(), Params: []Param{
		{Name: "records", Default: "file", Usage: "records that every store is loaded with, instead of keys.count"},
		{Name: "value", Default: "file", Usage: "size of every value in bytes, instead of values"},
	}}
	if !isName(name) {
		return w, "", c.wrong(nil, fmt.Errorf("%q is no name of a workload", name),
			"name the file with letters, digits, - and _")
	}
	if len(own.Stores) == 0 {
		own.Stores = map[string]ownStore{"store": {}}
	}
	for i, op := range own.Operations {
		if slices.ContainsFunc(own.Operations[:i], func(o ownOp) bool { return o.Name == op.Name }) {
			return w, "", c.wrong(path("operations", i, "name"), fmt.Errorf("%q stands there twice", op.Name),
				"give each operation a name of its own")
		}
		o, err := c.operation(i, op, own.Stores, w.Params)
		if err != nil {
			return w, "", err
		}
		o.Sized = op.Compact
		w.Ops = append(w.Ops, o)
	}
	return w, own.Promise, nil
}

// ownCheck finds what is wrong with a file, and where.
type ownCheck struct {
	name string // of the workload
	file string // as errors name it
	text []byte
	root ast.Node // of the text, nil while it is not read
}

// path is a field of a file: "operations", 0, "mix".
func path(parts ...any) []string {
	all := make([]string, len(parts))
	for i, p := range parts {
		all[i] = fmt.Sprint(p)
	}
	return all
}

// wrong returns the error that a field is not as it must be.
func (c *ownCheck) wrong(at []string, err error, hint string) error {
	return c.wrongIn(lineOf(c.root, at), at, err, hint)
}

// wrongIn is wrong where the line is known; 0 is no line.
func (c *ownCheck) wrongIn(line int, at []string, err error, hint string) error {
	where := c.file
	if line > 0 {
		where += fmt.Sprintf(":%d", line)
	}
	if len(at) > 0 {
		where += ": " + strings.Join(at, ".")
	}
	return &kv.Error{Op: "workload", Kind: kv.Invalid, Err: fmt.Errorf("%s: %w", where, err), Hint: hint}
}

// lineOf returns the line of a field, from 1; of one that is not there, that of what should hold
// it, and 0 if that is nothing.
func lineOf(n ast.Node, at []string) int {
	line := 0
	for _, part := range at {
		key, value := child(n, part)
		if key == nil {
			break
		}
		line, n = key.GetToken().Position.Line, value
	}
	return line
}

// child returns a field of a mapping, or an item of a list, and where its name is.
func child(n ast.Node, name string) (key, value ast.Node) {
	switch n := n.(type) {
	case *ast.MappingValueNode:
		if n.Key.String() == name {
			return n.Key, n.Value
		}
	case *ast.MappingNode:
		for _, v := range n.Values {
			if v.Key.String() == name {
				return v.Key, v.Value
			}
		}
	case *ast.SequenceNode:
		for i, v := range n.Values {
			if fmt.Sprint(i) == name {
				return v, v
			}
		}
	}
	return nil, nil
}

// operation returns operation i of a file.
func (c *ownCheck) operation(i int, op ownOp, stores map[string]ownStore, params []Param) (Op, error) {
	names := slices.Sorted(maps.Keys(stores))
	store, known := stores[cmp.Or(op.Store, names[0])]
	if missing := op.Store == "" && len(stores) > 1; missing || !known {
		err := fmt.Errorf("%q is none of stores", op.Store)
		if missing {
			err = errors.New("it is missing, and there are several stores")
		}
		return Op{}, c.wrong(path("operations", i, "store"), err, "use one of "+strings.Join(names, ", "))
	}
	if len(store.shapes()) > 0 {
		return c.onStore(i, op, cmp.Or(op.Store, names[0]), store, params)
	}
	for field, there := range map[string]bool{"does": op.Does != "", "batch": op.Batch != 0} {
		if there {
			return Op{}, c.wrong(path("operations", i, field), errors.New("the store is keys and values"),
				"leave it out and write a mix, or make the store a queue, a log, a feed, records or a command's")
		}
	}
	if to, size := store.Values.To, cmp.Or(store.Values.Size, defaultValue); to != 0 && to < size {
		return Op{}, c.wrong(path("stores", cmp.Or(op.Store, names[0]), "values", "to"),
			fmt.Errorf("%d is less than size, %d", to, size), "write the largest size, or leave it out")
	}
	m, err := c.mixOf(i, op)
	if err != nil {
		return Op{}, err
	}
	if err := c.together(i, op, m); err != nil {
		return Op{}, err
	}
	out := Op{Name: op.Name, Summary: cmp.Or(op.Summary, m.summary()), Commits: m.insert+m.update+m.modify > 0,
		Workers: op.parts(), Cycle: m.cycle() * op.parts()}
	if op.Processes > 0 {
		out.Items = processSteps
		for out.Cycle = op.parts(); out.Cycle/op.parts()*processSteps%m.cycle() != 0; {
			out.Cycle += op.parts()
		}
	}
	out.New = func(env Env) (Runner, error) {
		r, err := newOwn(env, op, store, m, params)
		if err != nil || op.Processes == 0 {
			return r, err
		}
		if len(env.Self) == 0 && env.Dir != "" {
			return nil, &kv.Error{Op: "workload", Kind: kv.Unsupported, Err: errors.New("no helper processes here"),
				Hint: "use operations that work in one process"}
		}
		return &ownProcesses{ownRunner: r, task: ownTask{Env: env, Name: c.name, Operation: op.Name, Text: c.text}}, nil
	}
	if _, err := out.New(Env{Engine: "mem"}); err != nil {
		return Op{}, c.wrong(path("stores", cmp.Or(op.Store, names[0]), "keys", "count"), err, kv.HintOf(err))
	}
	return out, nil
}

// together returns an error where several cannot do an operation at the same time.
func (c *ownCheck) together(i int, op ownOp, m mix) error {
	several := "workers"
	if op.Processes > 0 {
		several = "processes"
	}
	switch {
	case op.Workers > 1 && op.Processes > 0:
		return c.wrong(path("operations", i, "workers"), errors.New("several workers in several processes"),
			"leave one of both out")
	case op.parts() > 1 && m.scan > 0:
		return c.wrong(path("operations", i, several), fmt.Errorf("several %s and scans", several),
			"scan with one: each has records of its own, and a scan would meet those of others")
	case op.Workers > 1 && op.Open == "each":
		return c.wrong(path("operations", i, "open"), errors.New("several workers open one store each time"),
			"use processes instead of workers: most engines let one opening have a store at a time")
	}
	return nil
}

// mixOf returns what the iterations of operation i do.
func (c *ownCheck) mixOf(i int, op ownOp) (mix, error) {
	if (op.Mix == nil) == (len(op.Phases) == 0) {
		return mix{}, c.wrong(path("operations", i), errors.New("it needs a mix, or phases"),
			"write one of both: mix: {read: 95, update: 5}")
	}
	m := mix{longest: uint32(op.Scan)}
	switch cmp.Or(op.Choose, "zipfian") {
	case "zipfian":
		m.choose = byZipf
	case "latest":
		m.choose = byAge
	}
	if op.Mix != nil {
		parts, err := c.parts(*op.Mix, path("operations", i, "mix"))
		parts.longest, parts.choose = m.longest, m.choose
		return parts, err
	}
	for j, p := range op.Phases {
		parts, err := c.parts(p.Mix, path("operations", i, "phases", j, "mix"))
		if err != nil {
			return mix{}, err
		}
		if cycle := parts.cycle(); p.Iterations%cycle != 0 {
			return mix{}, c.wrong(path("operations", i, "phases", j, "iterations"),
				fmt.Errorf("%d do not hold the parts in whole numbers", p.Iterations),
				fmt.Sprintf("use a multiple of %d", cycle))
		}
		m.phases = append(m.phases, phase{parts, p.Iterations})
		m.insert, m.scan = max(m.insert, parts.insert), max(m.scan, parts.scan)
		m.update, m.modify = max(m.update, parts.update), max(m.modify, parts.modify)
	}
	return m, nil
}

// parts returns the parts of a mix, which make 100 %.
func (c *ownCheck) parts(m ownMix, at []string) (mix, error) {
	if sum := m.Read + m.Update + m.Insert + m.Modify + m.Scan; sum != 100 {
		return mix{}, c.wrong(at, fmt.Errorf("the parts make %d %%, not 100", sum),
			"write every part, also read: {read: 95, update: 5}")
	}
	return mix{update: m.Update, insert: m.Insert, modify: m.Modify, scan: m.Scan}, nil
}

// read reads text into file.
func (c *ownCheck) read(text []byte, file *ownFile) error {
	if err := c.parse(text); err != nil {
		return err
	}
	if err := c.valid(text); err != nil {
		return err
	}
	if err := yaml.UnmarshalWithOptions(text, file, yaml.Strict()); err != nil {
		return c.wrong(nil, errors.New(yaml.FormatError(err, false, true)), "")
	}
	return nil
}
