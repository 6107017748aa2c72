package record

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// typeField is a field of the program's type. Those of a struct within it, or embedded in it, are
// fields of their own.
type typeField struct {
	name   string // with those of the structs that it is in before it
	was    string // its name before, "" if it has not changed
	goName string // path in the program's type
	typ    reflect.Type
	form   form
	kind   kind
	offset uintptr
	id     bool
	hot    bool
}

// tagName is the struct tag: `record:"name"`, and behind it id, hot, was=old; or `record:"-"` of a
// field that is not stored.
const tagName = "record"

// tag is what a field's tag says.
type tag struct {
	name, was string
	id, hot   bool
}

func parseTag(sf reflect.StructField) (t tag, err error) {
	name, flags, _ := strings.Cut(sf.Tag.Get(tagName), ",")
	t.name = name
	for flag := range strings.SplitSeq(flags, ",") {
		old, renamed := strings.CutPrefix(flag, "was=")
		switch {
		case flag == "":
		case flag == "id":
			t.id = true
		case flag == "hot":
			t.hot = true
		case renamed && isName(old):
			t.was = old
		default:
			return t, fmt.Errorf("has the unknown flag %q", flag)
		}
	}
	return t, nil
}

// fieldsOf returns the fields of struct type t, the one with the id among them.
func fieldsOf(t reflect.Type) ([]typeField, error) {
	if t.Kind() != reflect.Struct {
		return nil, invalid("open collection", fmt.Errorf("%v is not a struct", t), "use a struct type")
	}
	fields, err := structFields(t, nil)
	if err != nil {
		return nil, invalid("open collection", fmt.Errorf("%v: %w", t, err),
			`supported are `+supportedKinds+`; leave a field out with the tag record:"-"`)
	}
	return fields, chooseID(t, fields)
}

// structFields returns the fields of a struct that is part of the structs within.
func structFields(t reflect.Type, within []reflect.Type) ([]typeField, error) {
	if slices.Contains(within, t) {
		return nil, fmt.Errorf("is of type %v, which is part of itself", t)
	}
	within = append(within[:len(within):len(within)], t)
	var fields []typeField
	for i := range t.NumField() {
		some, err := readField(t.Field(i), within)
		if err != nil {
			return nil, fmt.Errorf("field %s %w", t.Field(i).Name, err)
		}
		for _, f := range some {
			for _, other := range fields {
				if strings.EqualFold(other.name, f.name) {
					return nil, fmt.Errorf("fields %s and %s have the same name %q: give one of them another with the tag record:%q; "+
						"upper and lower case are not told apart", other.goName, f.goName, f.name, "name")
				}
			}
			fields = append(fields, f)
		}
	}
	return fields, nil
}

// readField returns what is stored of a field: itself, or, of a struct, its fields.
func readField(sf reflect.StructField, within []reflect.Type) ([]typeField, error) {
	t, err := parseTag(sf)
	kind := kindOf(sf.Type)
	embedded := sf.Anonymous && kind == kindStruct && t.name == ""
	switch {
	case t.name == "-" || sf.Name == "_":
		return nil, nil
	case err != nil:
		return nil, err
	case !sf.IsExported() && !embedded:
		return nil, errors.New("is not exported")
	case t.name == "":
		t.name = sf.Name
	}
	if !isName(t.name) || strings.Contains(t.name, ".") {
		return nil, fmt.Errorf("is named %q, which is not made of at most 255 letters, digits and underscores", t.name)
	}
	if kind != kindStruct {
		f := typeField{name: t.name, was: t.was, goName: sf.Name, typ: sf.Type, kind: kind, offset: sf.Offset,
			id: t.id, hot: t.hot}
		f.form, err = formOf(sf.Type, within)
		return []typeField{f}, err
	}
	if t.id {
		return nil, errors.New("is a struct, which is no id")
	}
	fields, err := structFields(sf.Type, within)
	if err != nil {
		return nil, fmt.Errorf("has a %w", err)
	}
	for i := range fields {
		f := &fields[i]
		f.offset += sf.Offset
		f.hot = f.hot || t.hot
		if embedded {
			continue
		}
		if f.id {
			return nil, fmt.Errorf("has the id %s, which must be one of the record's own fields", f.goName)
		}
		if f.was != "" || t.was != "" {
			f.was = cmp.Or(t.was, t.name) + "." + cmp.Or(f.was, f.name)
		}
		f.name, f.goName = t.name+"."+f.name, sf.Name+"."+f.goName
	}
	return fields, nil
}

// isName reports whether name is one, or several with points between them.
func isName(name string) bool {
	if len(name) > 255 {
		return false
	}
	first := true
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		switch {
		case !first && c == '.':
			first = true
			continue
		case !letter && (first || c < '0' || c > '9'):
			return false
		}
		first = false
	}
	return !first
}

// chooseID finds the field with the id: the one tagged so, or else the one called ID.
func chooseID(t reflect.Type, fields []typeField) error {
	chosen := -1
	for i := range fields {
		if !fields[i].id {
			continue
		}
		if chosen >= 0 {
			return invalid("open collection", fmt.Errorf("%v: fields %s and %s are both tagged id", t,
				fields[chosen].goName, fields[i].goName), "tag one")
		}
		chosen = i
	}
	for i := range fields {
		if chosen < 0 && fields[i].goName == "ID" {
			chosen = i
		}
	}
	switch {
	case chosen < 0:
		return invalid("open collection", fmt.Errorf("%v has no id", t), `call a field ID, or tag it record:"name,id"`)
	case idKindOf(fields[chosen].kind) == noID:
		return invalid("open collection", fmt.Errorf("%v: the id %s is a %v", t, fields[chosen].goName,
			&fields[chosen].form),
			"ids are integers or strings")
	case fields[chosen].hot:
		return invalid("open collection", fmt.Errorf("%v: the id %s is hot", t, fields[chosen].goName),
			"an id does not change")
	case len(fields) > maxFields:
		return invalid("open collection", errors.New("more than 1,000 fields"), "split the type")
	}
	fields[chosen].id = true
	return nil
}

// maxFields bounds what a header may ask to be built.
const maxFields = 1000
