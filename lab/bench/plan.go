package bench

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
)

// Entry is one contender: an engine with options, under a name of its own.
type Entry struct {
	Name     string
	Engine   string // the engine's name, a scheme registered with kv
	Options  string // its options as a URL query, without "?"
	Unranked bool   // shown, never ranked: the harness's own floor
}

// URL returns the entry as ENGINE:?OPTIONS.
func (e Entry) URL() string {
	if e.Options == "" {
		return e.Engine + ":"
	}
	return e.Engine + ":?" + e.Options
}

// ParseEntries returns the entries that spec lists, separated by commas. Each is the name of one of known, or
// NAME=ENGINE:?OPTIONS, or ENGINE:?OPTIONS. What is wrong is Invalid, and the hint lists what there is.
func ParseEntries(spec string, known []Entry) ([]Entry, error) {
	var entries []Entry
	for item := range strings.SplitSeq(spec, ",") {
		e, err := parseEntry(strings.TrimSpace(item), known)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(entries, func(o Entry) bool { return o.Name == e.Name }) {
			return nil, invalid(fmt.Errorf("engine %q is named twice", e.Name), "give it two names: a=%s,b=%s", e.URL(), e.URL())
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func parseEntry(item string, known []Entry) (Entry, error) {
	for _, e := range known {
		if e.Name == item {
			return e, nil
		}
	}
	name, rawURL, named := strings.Cut(item, "=")
	if colon := strings.IndexByte(name, ':'); !named || colon >= 0 { // the "=" is one in the options
		name, rawURL = strings.TrimSuffix(item, ":"), item
	}
	engine, rest, ok := strings.Cut(rawURL, ":")
	if !ok {
		names := make([]string, len(known))
		for i, e := range known {
			names[i] = e.Name
		}
		return Entry{}, invalid(fmt.Errorf("unknown engine %q", rawURL), "use one of %s, or NAME=ENGINE:?OPTIONS", strings.Join(names, ", "))
	}
	path, options, _ := strings.Cut(rest, "?")
	if path != "" {
		return Entry{}, invalid(fmt.Errorf("%q names a file", item), "leave the path out: the lab works in a folder of its own")
	}
	if _, err := kv.PathOf(rawURL); err != nil {
		return Entry{}, err
	}
	return Entry{Name: name, Engine: engine, Options: options}, nil
}

// Selection is a workload, some of its operations and the parameters that it runs with.
type Selection struct {
	Workload workload.Workload
	Ops      []workload.Op
	Params   map[string]string
}

// query returns the parameters as a URL query, sorted.
func (s Selection) query() string {
	values := url.Values{}
	for k, v := range s.Params {
		values.Set(k, v)
	}
	return values.Encode()
}

// Forms returns the forms in which an entry takes part in selections, without those that it has nowhere.
func Forms(e Entry, selections []Selection) []string {
	var all []string
	for _, s := range selections {
		for _, op := range s.Ops {
			for _, form := range forms(op, e) {
				if !slices.Contains(all, form) {
					all = append(all, form)
				}
			}
		}
	}
	return all
}

// DefaultSelections returns every workload with its core operations.
func DefaultSelections() []Selection {
	var all []Selection
	for _, w := range workload.All() {
		s := Selection{Workload: w}
		for _, op := range w.Ops {
			if op.Core {
				if forms := op.CoreForms; forms != nil {
					op.Forms = func(string, string) []string { return forms }
				}
				s.Ops = append(s.Ops, op)
			}
		}
		all = append(all, s)
	}
	return all
}

// ParseSelections returns what the arguments name: WORKLOAD[/OPERATION[,OPERATION]][?PARAM=VALUE[&...]].
// What is wrong is Invalid, and the hint lists what there is.
func ParseSelections(args []string) ([]Selection, error) {
	var all []Selection
	for _, arg := range args {
		s, err := parseSelection(arg)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func parseSelection(arg string) (Selection, error) {
	spec, query, _ := strings.Cut(arg, "?")
	name, ops, some := strings.Cut(spec, "/")
	w, ok := workload.Lookup(name)
	if !ok {
		var names []string
		for _, w := range workload.All() {
			names = append(names, w.Name)
		}
		return Selection{}, invalid(fmt.Errorf("unknown workload %q", name), "use one of %s", strings.Join(names, ", "))
	}
	s := Selection{Workload: w, Ops: w.Ops, Params: map[string]string{}}
	if some {
		s.Ops = nil
		for op := range strings.SplitSeq(ops, ",") {
			o, ok := w.Op(op)
			if !ok {
				return Selection{}, invalid(fmt.Errorf("%s has no operation %q", name, op), "use one of %s", strings.Join(opNames(w), ", "))
			}
			s.Ops = append(s.Ops, o)
		}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Selection{}, invalid(err, "write %s?name=value&name=value", name)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(w.Params, func(p workload.Param) bool { return p.Name == key }) {
			return Selection{}, invalid(fmt.Errorf("%s has no parameter %q", name, key), "use one of %s", strings.Join(paramNames(w), ", "))
		}
		s.Params[key] = values.Get(key)
	}
	for _, op := range s.Ops { // New does nothing but look at the parameters
		if _, err := op.New(workload.Env{Params: s.Params}); errors.Is(err, kv.Invalid) {
			return Selection{}, err
		}
	}
	return s, nil
}

func opNames(w workload.Workload) []string {
	names := make([]string, len(w.Ops))
	for i, op := range w.Ops {
		names[i] = op.Name
	}
	return names
}

func paramNames(w workload.Workload) []string {
	names := make([]string, len(w.Params))
	for i, p := range w.Params {
		names[i] = p.Name
	}
	return names
}

func invalid(err error, hint string, args ...any) error {
	return &kv.Error{Kind: kv.Invalid, Err: err, Hint: fmt.Sprintf(hint, args...)}
}
