package driver

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Option describes one URL parameter of an engine, under the engine's own name for it.
type Option struct {
	Name    string // as in the engine's documentation, "SyncWrites"
	Values  string // what it takes, "true|false", "bytes", "WAL|DELETE"
	Default string // what holds when it is absent
	Usage   string // one line
}

// Table is an engine's options, each written once: what the list says, how a value is read into T,
// and how the value in force is told. T is the engine's own struct of options, or one of the
// driver's.
type Table[T any] []Field[T]

// Field is one option of a Table. Set reads a value into o; its error says what is allowed instead,
// "use true or false". Get returns the value in o, as Set would take it.
type Field[T any] struct {
	Option
	Set func(o *T, value string) error
	Get func(o *T) string
}

// Options returns the list for Info, sorted by name. A default that the field does not name is read
// from defaults.
func (t Table[T]) Options(defaults T) []Option {
	list := make([]Option, len(t))
	for i, f := range t {
		list[i] = f.Option
		if f.Default == "" {
			list[i].Default = f.Get(&defaults)
		}
	}
	slices.SortFunc(list, func(a, b Option) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Read reads params into o, which holds the defaults. The first wrong value, by the order of the
// table, is Invalid.
func (t Table[T]) Read(params map[string]string, o *T) error {
	if len(params) == 0 {
		return nil
	}
	for _, f := range t {
		value, given := params[f.Name]
		if !given {
			continue
		}
		if err := f.Set(o, value); err != nil {
			return &Error{Op: "open", Kind: Invalid, Err: fmt.Errorf("option %s=%s", f.Name, value), Hint: err.Error()}
		}
	}
	return nil
}

// Settings returns the values in o, sorted by name.
func (t Table[T]) Settings(o *T) []Setting {
	list := make([]Setting, len(t))
	for i, f := range t {
		list[i] = Setting{Name: f.Name, Value: f.Get(o)}
	}
	slices.SortFunc(list, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// field is an option of the type V, which read and tell turn from and to text.
func field[T, V any](name, values, usage string, at func(*T) *V, read func(string) (V, error),
	tell func(V) string) Field[T] {
	return Field[T]{
		Option: Option{Name: name, Values: values, Usage: usage},
		Set: func(o *T, value string) error {
			v, err := read(value)
			if err == nil {
				*at(o) = v
			}
			return err
		},
		Get: func(o *T) string { return tell(*at(o)) },
	}
}

// Bool is an option that is true or false.
func Bool[T any](name, usage string, at func(*T) *bool) Field[T] {
	return field(name, "true|false", usage, at, func(value string) (bool, error) {
		b, err := strconv.ParseBool(value)
		if err != nil {
			err = errors.New("use true or false")
		}
		return b, err
	}, strconv.FormatBool)
}

// Whole is an option that is a whole number of at least min; values is what it counts, "bytes".
func Whole[T any, N int | int32 | int64 | uint | uint32 | uint64](name, values string, min int64, usage string,
	at func(*T) *N) Field[T] {
	return field(name, values, usage, at, func(value string) (N, error) {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < min || int64(N(n)) != n {
			return 0, fmt.Errorf("use a whole number of at least %d", min)
		}
		return N(n), nil
	}, func(n N) string { return fmt.Sprint(n) })
}

// Number is an option that is a number from min to max; values says so in words.
func Number[T any](name, values string, min, max float64, usage string, at func(*T) *float64) Field[T] {
	return field(name, values, usage, at, func(value string) (float64, error) {
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || !(f >= min && f <= max) {
			return 0, fmt.Errorf("use a number from %g to %g", min, max)
		}
		return f, nil
	}, func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) })
}

// Named is one value of a OneOf option.
type Named[V any] struct {
	Name  string
	Value V
}

// OneOf is an option with named values. A value in force that has no name is told as it prints.
func OneOf[T any, V comparable](name, usage string, at func(*T) *V, values ...Named[V]) Field[T] {
	names, byName, byValue := make([]string, len(values)), map[string]V{}, map[V]string{}
	for i, v := range values {
		names[i], byName[v.Name], byValue[v.Value] = v.Name, v.Value, v.Name
	}
	return field(name, strings.Join(names, "|"), usage, at, func(value string) (V, error) {
		v, ok := byName[value]
		if !ok {
			return v, fmt.Errorf("use one of %v", names)
		}
		return v, nil
	}, func(v V) string { return cmp.Or(byValue[v], fmt.Sprint(v)) })
}

// OneWord is a OneOf whose values are their own names.
func OneWord[T any, V ~string](name, usage string, at func(*T) *V, values ...V) Field[T] {
	named := make([]Named[V], len(values))
	for i, v := range values {
		named[i] = Named[V]{Name: string(v), Value: v}
	}
	return OneOf(name, usage, at, named...)
}

// Text is an option that takes any text; values describes it.
func Text[T any](name, values, usage string, at func(*T) *string) Field[T] {
	same := func(value string) string { return value }
	return field(name, values, usage, at, func(value string) (string, error) { return value, nil }, same)
}

// WithDefault returns f with text in place of the default in the list, where the value itself would
// say nothing.
func (f Field[T]) WithDefault(text string) Field[T] {
	f.Default = text
	return f
}
