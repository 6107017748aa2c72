package cli

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/prove"
)

// Contender is an engine of the binary, with settings that are worth comparing.
type Contender struct {
	bench.Entry
	Default bool   // takes part when --engines does not say otherwise
	Prove   bool   // takes part in assay prove all the same: a setting whose losses are known must lose
	Summary string // one line
	Package string // the import path of the package that registers the engine

	Servers *prove.Servers // how assay prove runs servers of the engine's; nil where it runs none
}

// whole returns catalog with what it leaves out: nil is every engine that is registered, an empty
// name and an empty summary are the engine's own. An engine that is not there, or a name that is
// there twice, is an error.
func whole(catalog []Contender) ([]Contender, error) {
	if catalog == nil {
		for _, name := range driver.Names() {
			catalog = append(catalog, Contender{Entry: bench.Entry{Engine: name}, Default: true})
		}
	}
	out := slices.Clone(catalog)
	for i := range out {
		c := &out[i]
		d, ok := driver.Lookup(c.Engine)
		if !ok {
			return nil, usage(fmt.Errorf("the engine %q is listed and not registered", c.Engine), "import its package")
		}
		if c.Name == "" {
			c.Name = c.Engine
		}
		if c.Summary == "" {
			c.Summary = d.Info().Summary
		}
		if c.Package == "" {
			c.Package = packageOf(d)
		}
		if slices.ContainsFunc(out[:i], func(o Contender) bool { return o.Name == c.Name }) {
			return nil, usage(fmt.Errorf("the engine %q is listed twice", c.Name), "give it two names")
		}
	}
	for _, c := range out {
		if c.Plain != "" && !slices.ContainsFunc(out, func(o Contender) bool {
			return o.Name == c.Plain &&
				o.Engine == c.Engine
		}) {
			return nil, usage(fmt.Errorf("%s names %q as its plain form, which is not listed", c.Name, c.Plain),
				"list it, of the same engine")
		}
	}
	return out, nil
}

// packageOf returns the import path of a driver's type, which is that of the package that registers
// it, as a rule.
func packageOf(d driver.Driver) string {
	t := reflect.TypeOf(d)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}

// entries returns the contenders as the lab knows them.
func (a *app) entries() []bench.Entry { return a.chosen(func(Contender) bool { return true }) }

// defaults returns the contenders that take part when nothing was said.
func (a *app) defaults() []bench.Entry {
	return a.chosen(func(c Contender) bool { return c.Default })
}

// chosen returns the contenders that pass.
func (a *app) chosen(pass func(Contender) bool) []bench.Entry {
	entries := []bench.Entry{}
	for _, c := range a.catalog {
		if pass(c) {
			entries = append(entries, c.Entry)
		}
	}
	return entries
}
