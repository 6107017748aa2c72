package driver

import (
	"fmt"
	"strconv"
)

// Params reads the values of an engine's options and remembers the first that is wrong.
//
// A driver makes one from Config.Params, reads every option, and returns Err before it opens anything.
type Params struct {
	values map[string]string
	err    error
}

// NewParams returns a reader of values.
func NewParams(values map[string]string) *Params { return &Params{values: values} }

// Err returns the Invalid error of the first wrong value, or nil.
func (p *Params) Err() error { return p.err }

// Has reports whether the option was given.
func (p *Params) Has(name string) bool { _, ok := p.values[name]; return ok }

// String returns the option's value, or def.
func (p *Params) String(name, def string) string {
	if v, ok := p.values[name]; ok {
		return v
	}
	return def
}

// OneOf returns the option's value, which must be one of allowed, or def.
func (p *Params) OneOf(name, def string, allowed ...string) string {
	v := p.String(name, def)
	for _, a := range allowed {
		if v == a {
			return v
		}
	}
	if p.Has(name) {
		p.fail(name, v, fmt.Sprintf("use one of %v", allowed))
	}
	return def
}

// Bool returns the option's value as a boolean, or def.
func (p *Params) Bool(name string, def bool) bool {
	v, ok := p.values[name]
	if !ok {
		return def
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		p.fail(name, v, "use true or false")
		return def
	}
	return b
}

// Int returns the option's value as a whole number of at least min, or def.
func (p *Params) Int(name string, def, min int64) int64 {
	v, ok := p.values[name]
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < min {
		p.fail(name, v, fmt.Sprintf("use a whole number of at least %d", min))
		return def
	}
	return n
}

// Float returns the option's value as a number of at least min, or def.
func (p *Params) Float(name string, def, min float64) float64 {
	v, ok := p.values[name]
	if !ok {
		return def
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || f < min {
		p.fail(name, v, fmt.Sprintf("use a number of at least %g", min))
		return def
	}
	return f
}

func (p *Params) fail(name, value, hint string) {
	if p.err == nil {
		p.err = &Error{Op: "open", Kind: Invalid, Err: fmt.Errorf("option %s=%s", name, value), Hint: hint}
	}
}
