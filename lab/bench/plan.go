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
	Engine   string  // the engine's name, a scheme registered with kv
	Options  string  // its options as a URL query, without "?"
	Unranked bool    // shown, never ranked: the harness's own floor
	Plain    string  // the entry that is the engine as its own users know it, where this one is more
	Slow     float64 // every operation is made so much slower, 0.1 by 10 %: a difference that is there to be found
}

// URL returns the entry as ENGINE:?OPTIONS.
func (e Entry) URL() string {
	if e.Options == "" {
		return e.Engine + ":"
	}
	return e.Engine + ":?" + e.Options
}

// ParseEntries returns the entries that spec lists, separated by commas. Each is the name of one of
// known, which NAME= may stand before, or NAME=ENGINE:?OPTIONS, or ENGINE:?OPTIONS. What is wrong
// is Invalid, and the hint lists what there is.
func ParseEntries(spec string, known []Entry) ([]Entry, error) {
	var entries []Entry
	for item := range strings.SplitSeq(spec, ",") {
		e, err := parseEntry(strings.TrimSpace(item), known)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(entries, func(o Entry) bool { return o.Name == e.Name }) {
			return nil, invalid(fmt.Errorf("engine %q is named twice", e.Name), "give it two names: a=%s,b=%s", e.URL(),
				e.URL())
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
	if named && name != item && (name == "" || strings.ContainsAny(name, "/@ \t")) {
		return Entry{}, invalid(fmt.Errorf("%q is no name for an engine", name),
			"a name has no space, slash or @: mine=%s", rawURL)
	}
	for _, e := range known {
		if named && e.Name == rawURL {
			return Entry{Name: name, Engine: e.Engine, Options: e.Options, Unranked: e.Unranked}, nil
		}
	}
	engine, rest, ok := strings.Cut(rawURL, ":")
	if !ok {
		names := make([]string, len(known))
		for i, e := range known {
			names[i] = e.Name
		}
		return Entry{}, invalid(fmt.Errorf("unknown engine %q", rawURL), "%suse one of %s, or NAME=ENGINE:?OPTIONS",
			DidYouMean(rawURL, names), strings.Join(names, ", "))
	}
	path, options, _ := strings.Cut(rest, "?")
	if strings.Contains(path, "=") {
		return Entry{}, invalid(fmt.Errorf("%q names a file", item), "options stand behind a question mark: %s:?%s",
			strings.TrimSuffix(item, ":"+rest), path)
	}
	if path != "" {
		return Entry{}, invalid(fmt.Errorf("%q names a file", item),
			"leave the path out: the lab works in a folder of its own")
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

// Query returns the parameters as a URL query, sorted, as result.Cell has them.
func (s Selection) Query() string {
	values := url.Values{}
	for k, v := range s.Params {
		values.Set(k, v)
	}
	return values.Encode()
}

// Forms returns the forms in which an entry takes part in selections, without those that it has
// nowhere.
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

// DefaultSelections returns every workload that has core operations with these, and the first of
// each parameter that is a list.
func DefaultSelections() []Selection {
	var all []Selection
	for _, w := range workload.All() {
		s := Selection{Workload: w, Params: map[string]string{}}
		for _, p := range w.Params {
			if values := p.Defaults(); len(values) > 1 {
				s.Params[p.Name] = values[0]
			}
		}
		for _, op := range w.Ops {
			if op.Core {
				s.Ops = append(s.Ops, withCoreForms(op))
			}
		}
		if len(s.Ops) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// withCoreForms returns op without the forms of an engine that are not among its core forms.
func withCoreForms(op workload.Op) workload.Op {
	all := op
	if op.CoreForms != nil {
		op.Forms = func(engine, options string) []string {
			return slices.DeleteFunc(slices.Clone(forms(all, Entry{Engine: engine, Options: options})),
				func(form string) bool {
					return !slices.Contains(op.CoreForms, form)
				})
		}
	}
	return op
}

// ParseSelections returns what the arguments name:
// WORKLOAD[/OPERATION[,OPERATION]][?PARAM=VALUE[,VALUE][&...]]. A parameter with several values,
// given or by default, makes a selection of each, and several such parameters one of each
// combination. What is wrong is Invalid, and the hint lists what there is.
func ParseSelections(args []string) ([]Selection, error) {
	var all []Selection
	for _, arg := range args {
		s, query, err := parseSelection(arg)
		if err != nil {
			return nil, err
		}
		lists, err := parseParams(s.Workload, query)
		if err != nil {
			return nil, err
		}
		for _, params := range combinations(lists) {
			s.Params = params
			if err := s.Check(); err != nil {
				return nil, err
			}
			s.Ops = slices.Clone(s.Ops)
			for i, op := range s.Ops {
				s.Ops[i] = op.With(params)
			}
			all = append(all, s.without(all))
		}
	}
	return slices.DeleteFunc(all, func(s Selection) bool { return len(s.Ops) == 0 }), nil
}

// without returns s without the operations that it names twice, or that others hold with the same
// parameters: each is measured once.
func (s Selection) without(others []Selection) Selection {
	seen := map[string]bool{}
	for _, o := range others {
		if o.Workload.Name == s.Workload.Name && maps.Equal(o.Params, s.Params) {
			for _, op := range o.Ops {
				seen[op.Name] = true
			}
		}
	}
	s.Ops = slices.DeleteFunc(s.Ops, func(op workload.Op) bool {
		again := seen[op.Name]
		seen[op.Name] = true
		return again
	})
	return s
}

// Check returns an error, which is Invalid, if an operation does not take the parameters, or if one
// of them bears on none of the operations.
func (s Selection) Check() error {
	if err := s.checkOf(); err != nil {
		return err
	}
	for _, op := range s.Ops {
		if err := s.checkOwn(op); err != nil {
			return err
		}
		// New does nothing but look at the parameters.
		if _, err := op.New(workload.Env{Params: s.Params}); errors.Is(err, kv.Invalid) {
			return err
		}
	}
	return nil
}

// checkOf returns an error if a parameter was given that bears on none of the operations.
func (s Selection) checkOf() error {
	for _, p := range s.Workload.Params {
		bears := func(op workload.Op) bool { return p.Of == nil || slices.Contains(p.Of, op.Name) }
		if _, given := s.Params[p.Name]; given && !slices.ContainsFunc(s.Ops, bears) {
			return invalid(fmt.Errorf("parameter %q bears on none of the operations: it is one of %s", p.Name,
				strings.Join(p.Of, " and ")), "write '%s/%s?%s'", s.Workload.Name, strings.Join(p.Of, ","), s.Query())
		}
	}
	return nil
}

// checkOwn returns an error if a parameter was given that bears on another operation alone: the
// figures of op would stand under it as if it had changed them.
func (s Selection) checkOwn(op workload.Op) error {
	for _, other := range s.Workload.Ops {
		for _, param := range other.Own {
			if _, given := s.Params[param]; given && !slices.Contains(op.Own, param) {
				return invalid(fmt.Errorf("%s/%s has no parameter %q: it is one of %s", s.Workload.Name, op.Name, param,
					other.Name), "write '%s/%s?%s'", s.Workload.Name, other.Name, s.Query())
			}
		}
	}
	return nil
}

// parseSelection returns what arg names, without parameters, and the query that gives them.
func parseSelection(arg string) (s Selection, query string, err error) {
	spec, query, _ := strings.Cut(arg, "?")
	name, ops, some := strings.Cut(spec, "/")
	w, ok := workload.Lookup(name)
	if !ok {
		names := WorkloadNames()
		meant := DidYouMean(name, names)
		for _, w := range workload.All() {
			if _, is := w.Op(name); is && meant == "" {
				meant = fmt.Sprintf("did you mean %s/%s? ", w.Name, name)
			}
		}
		if name == "" && some || strings.HasPrefix(name, ".") {
			meant = "a file that holds a workload ends in .yaml; else "
			name = spec
		}
		return s, "", invalid(fmt.Errorf("unknown workload %q", name), "%suse one of %s", meant, strings.Join(names, ", "))
	}
	given, _ := url.ParseQuery(query) // parseParams tells what is wrong with it
	s = Selection{Workload: w, Ops: w.Asked(given.Has)}
	if some {
		s.Ops = nil
		for op := range strings.SplitSeq(ops, ",") {
			o, ok := w.Op(op)
			if !ok {
				return s, "", invalid(fmt.Errorf("%s has no operation %q", name, op), "%suse one of %s",
					DidYouMean(op, opNames(w)), strings.Join(opNames(w), ", "))
			}
			s.Ops = append(s.Ops, o)
		}
	}
	return s, query, nil
}

// paramList is the values of one parameter.
type paramList struct {
	name   string
	values []string
}

// parseParams returns the values that query gives parameters of w, in the order of w, and the
// defaults that are lists.
func parseParams(w workload.Workload, query string) (lists []paramList, err error) {
	given, err := url.ParseQuery(query)
	if err != nil {
		return nil, invalid(err, "write %s?name=value&name=value", w.Name)
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(w.Params, func(p workload.Param) bool { return p.Name == key }) {
			return nil, invalid(fmt.Errorf("%s has no parameter %q", w.Name, key), "%suse one of %s",
				DidYouMean(key, paramNames(w)), strings.Join(paramNames(w), ", "))
		}
	}
	for _, p := range w.Params {
		list := paramList{p.Name, p.Defaults()}
		if texts, ok := given[p.Name]; ok {
			list.values = strings.Split(texts[0], ",")
			if err := list.check(len(texts)); err != nil {
				return nil, err
			}
		} else if len(list.values) == 1 {
			continue
		}
		lists = append(lists, list)
	}
	return lists, nil
}

// check returns an error if a parameter that was given some times is not a list of different
// values.
func (l paramList) check(times int) error {
	hint := fmt.Sprintf("list different values once, separated by commas: %s=100,10k", l.name)
	if times > 1 {
		return invalid(fmt.Errorf("parameter %s is given %d times", l.name, times), "%s", hint)
	}
	seen := map[string]bool{}
	for _, v := range l.values {
		switch {
		case v == "" && len(l.values) > 1:
			return invalid(fmt.Errorf("parameter %s=%q has an empty value", l.name, strings.Join(l.values, ",")), "%s",
				hint)
		case seen[v]:
			return invalid(fmt.Errorf("parameter %s=%q has %s twice", l.name, strings.Join(l.values, ","), v), "%s",
				hint)
		}
		seen[v] = true
	}
	return nil
}

// combinations returns the parameters with each value of each list; the last list changes fastest.
func combinations(lists []paramList) []map[string]string {
	all := []map[string]string{{}}
	for _, l := range lists {
		var next []map[string]string
		for _, params := range all {
			for _, v := range l.values {
				more := maps.Clone(params)
				more[l.name] = v
				next = append(next, more)
			}
		}
		all = next
	}
	return all
}

// WorkloadNames returns the names of all workloads.
func WorkloadNames() []string {
	var names []string
	for _, w := range workload.All() {
		names = append(names, w.Name)
	}
	return names
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
