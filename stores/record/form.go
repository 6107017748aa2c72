package record

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// form is a type as the header has it.
type form struct {
	Kind   string      `json:"kind"`
	Len    int         `json:"len,omitzero"`     // of an array
	Key    *form       `json:"key,omitempty"`    // of a map
	Elem   *form       `json:"elem,omitempty"`   // of what holds others
	Fields []formField `json:"fields,omitempty"` // of a struct: all that there ever were, in the order in which they came
}

type formField struct {
	Name  string `json:"name"`
	Label string `json:"label,omitempty"` // its name in JSON, if that is another: its first one
	form
	Gone bool `json:"gone,omitempty"` // the type lacks it now
	was  string
}

// label returns the field's name in JSON.
func (f *formField) label() string { return cmp.Or(f.Label, f.Name) }

// formOf returns the form of a type. within are the structs that it is part of.
func formOf(t reflect.Type, within []reflect.Type) (f form, err error) {
	k := kindOf(t)
	f.Kind = kinds[k].name
	part := func(t reflect.Type) *form {
		var of form
		if err == nil {
			of, err = formOf(t, within)
		}
		return &of
	}
	switch k {
	case unsupported:
		return f, fmt.Errorf("is of type %v", t)
	case kindArray:
		if f.Len = t.Len(); f.Len == 0 {
			return f, errors.New("is an array of nothing")
		}
	case kindMap:
		f.Key = part(t.Key())
		if k := kindNamed(f.Key.Kind); err == nil && k != kindBool && k != kindString && !k.signed() && !k.unsigned() {
			return f, fmt.Errorf("is a map whose keys are of type %v, not numbers or strings", t.Key())
		}
	case kindStruct:
		var fields []typeField
		if fields, err = structFields(t, within); err != nil {
			return f, err
		}
		for _, field := range fields {
			if field.hot || field.id {
				return f, fmt.Errorf("has the field %s with a flag that only fields of the record can have",
					field.goName)
			}
			f.Fields = append(f.Fields, formField{Name: field.name, form: field.form, was: field.was})
		}
	}
	if k >= kindList && k != kindStruct {
		f.Elem = part(t.Elem())
	}
	return f, err
}

// scalar reports whether it is that of a value that is not made of others.
func (f *form) scalar() bool { return kindNamed(f.Kind).scalar() }

// typ returns a type that has the form, for what the program has no type for.
func (f *form) typ() reflect.Type {
	switch k := kindNamed(f.Kind); k {
	case kindList:
		return reflect.SliceOf(f.Elem.typ())
	case kindArray:
		return reflect.ArrayOf(f.Len, f.Elem.typ())
	case kindMap:
		return reflect.MapOf(f.Key.typ(), f.Elem.typ())
	case kindOptional:
		return reflect.PointerTo(f.Elem.typ())
	case kindStruct:
		var fields []reflect.StructField
		for i, field := range f.Fields {
			tag := reflect.StructTag(fmt.Sprintf("%s:%q", tagName, field.Name))
			fields = append(fields, reflect.StructField{Name: fmt.Sprint("F", i), Type: field.form.typ(), Tag: tag})
		}
		return reflect.StructOf(fields)
	default:
		return kinds[k].typ
	}
}

// check returns an error unless the form fits together, as deep as a type can be.
func (f *form) check(deep int) error {
	k := kindNamed(f.Kind)
	switch {
	case k == unsupported || deep > 100:
		return fmt.Errorf("kind %q", f.Kind)
	case (k >= kindList && k != kindStruct) != (f.Elem != nil), (k == kindMap) != (f.Key != nil), k == kindArray &&
		(f.Len < 1 || f.Len > 1<<20):
		return fmt.Errorf("a %s that is not whole", f.Kind)
	}
	parts := []*form{f.Elem, f.Key}
	for i := range f.Fields {
		parts = append(parts, &f.Fields[i].form)
		if !isName(f.Fields[i].Name) {
			return fmt.Errorf("a field called %q", f.Fields[i].Name)
		}
	}
	for _, part := range parts {
		if part != nil {
			if err := part.check(deep + 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// String returns the form as errors name it.
func (f *form) String() string {
	switch kindNamed(f.Kind) {
	case kindList, kindOptional:
		return f.Kind + " of " + f.Elem.String()
	case kindArray:
		return fmt.Sprintf("array of %d %s", f.Len, f.Elem)
	case kindMap:
		return fmt.Sprintf("map of %s to %s", f.Key, f.Elem)
	}
	return f.Kind
}

// differences are what a type has and the stored one has not, and the other way round, by the
// fields' paths.
type differences struct{ added, missing []string }

// fit changes f, which is stored, so that values of now are written in it. Fields of structs are
// never removed: what was written with them is read.
func (f *form) fit(now form, path string, d *differences) error {
	if f.Kind != now.Kind || f.Len != now.Len {
		return mismatch(fmt.Errorf("field %s is stored as %v, the type has %v", path, f, &now),
			"give the new field another name")
	}
	for _, part := range [][2]*form{{f.Key, now.Key}, {f.Elem, now.Elem}} {
		if part[0] != nil {
			if err := part[0].fit(*part[1], path+"[]", d); err != nil {
				return err
			}
		}
	}
	known := make(map[string]bool)
	for _, field := range now.Fields {
		i := f.indexOf(field.Name)
		if i < 0 && field.was != "" {
			if i = f.indexOf(field.was); i >= 0 {
				f.Fields[i].Name, f.Fields[i].Label = field.Name, f.Fields[i].label()
			}
		}
		known[field.Name] = true
		if i < 0 {
			if slices.ContainsFunc(f.Fields, func(other formField) bool { return other.Label == field.Name }) {
				return mismatch(fmt.Errorf("the new field %s.%s has the first name of another", path, field.Name),
					"give it another name")
			}
			d.added = append(d.added, path+"."+field.Name)
			f.Fields = append(f.Fields, field)
			continue
		}
		if f.Fields[i].Gone {
			d.added = append(d.added, path+"."+field.Name)
			f.Fields[i].Gone = false
		}
		if err := f.Fields[i].fit(field.form, path+"."+field.Name, d); err != nil {
			return err
		}
	}
	for i := range f.Fields {
		if field := &f.Fields[i]; !known[field.Name] && !field.Gone {
			d.missing = append(d.missing, path+"."+field.Name)
			field.Gone = true
		}
	}
	return nil
}

func (f *form) indexOf(name string) int {
	return slices.IndexFunc(f.Fields, func(field formField) bool { return field.Name == name })
}
