package record

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// typeField is a field of the program's type.
type typeField struct {
	name   string
	goName string
	kind   kind
	offset uintptr
	id     bool
}

// tagName is the struct tag that names a field: `record:"name"`, `record:"name,id"` of the id, `record:"-"` of a field that is
// not stored.
const tagName = "record"

// fieldsOf returns the fields of struct type t, the one with the id among them.
func fieldsOf(t reflect.Type) ([]typeField, error) {
	if t.Kind() != reflect.Struct {
		return nil, invalid("open collection", fmt.Errorf("%v is not a struct", t), "use a struct type")
	}
	var fields []typeField
	seen := map[string]string{}
	for i := range t.NumField() {
		f, stored, err := readField(t, t.Field(i))
		if err != nil {
			return nil, err
		}
		if !stored {
			continue
		}
		for name, goName := range seen {
			if strings.EqualFold(name, f.name) {
				return nil, invalid("open collection", fmt.Errorf("%v: fields %s and %s have the same name %q", t, goName, f.goName, f.name),
					"give one of them another: `record:\"name\"`; upper and lower case are not told apart")
			}
		}
		seen[f.name] = f.goName
		fields = append(fields, f)
	}
	return fields, chooseID(t, fields)
}

func readField(t reflect.Type, sf reflect.StructField) (f typeField, stored bool, err error) {
	refuse := func(format string, args ...any) (typeField, bool, error) {
		err := fmt.Errorf("%v: field %s %s", t, sf.Name, fmt.Sprintf(format, args...))
		return f, false, invalid("open collection", err, `supported are `+supportedKinds+`; leave a field out with the tag record:"-"`)
	}
	name, flags, _ := strings.Cut(sf.Tag.Get(tagName), ",")
	if name == "-" {
		return f, false, nil
	}
	if name == "" {
		name = sf.Name
	}
	f = typeField{name: name, goName: sf.Name, kind: kindOf(sf.Type), offset: sf.Offset, id: flags == "id"}
	switch {
	case !sf.IsExported():
		return refuse("is not exported")
	case sf.Anonymous:
		return refuse("is embedded")
	case f.kind == unsupported:
		return refuse("is of type %v", sf.Type)
	case !isName(name):
		return refuse("is named %q, which is not made of at most 255 letters, digits and underscores", name)
	case flags != "" && flags != "id":
		return refuse("has the unknown flag %q", flags)
	}
	return f, true, nil
}

func isName(name string) bool {
	if len(name) > 255 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// chooseID finds the field with the id: the one tagged so, or else the one called ID.
func chooseID(t reflect.Type, fields []typeField) error {
	chosen := -1
	for i := range fields {
		if !fields[i].id {
			continue
		}
		if chosen >= 0 {
			return invalid("open collection", fmt.Errorf("%v: fields %s and %s are both tagged id", t, fields[chosen].goName, fields[i].goName), "tag one")
		}
		chosen = i
	}
	for i := range fields {
		if chosen < 0 && fields[i].goName == "ID" {
			chosen = i
		}
	}
	if chosen < 0 {
		return invalid("open collection", fmt.Errorf("%v has no id", t), `call a field ID, or tag it record:"name,id"`)
	}
	fields[chosen].id = true
	if idKindOf(fields[chosen].kind) == noID {
		return invalid("open collection", fmt.Errorf("%v: the id %s is a %s", t, fields[chosen].goName, kinds[fields[chosen].kind].name),
			"ids are integers or strings")
	}
	if len(fields) > maxFields {
		return invalid("open collection", errors.New("more than 1,000 fields"), "split the type")
	}
	return nil
}

// maxFields bounds what a header may ask to be built.
const maxFields = 1000
