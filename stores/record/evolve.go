package record

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// Evolution says what to do where the program's type differs from the one that the collection was
// written with. A field whose kind changed is refused always: it needs another name. One that was
// renamed by the tag was=old is never a difference.
type Evolution uint8

// The ways to deal with another type.
const (
	Refuse Evolution = iota // the difference is an error that names the fields
	Extend                  // the type may have more fields; a stored field that it lacks is an error
	Keep                    // the type may have more and fewer; what it lacks stays in the records, through every write
	Drop                    // the same; what the type lacks is gone from a record once it is written again
)

// adopt changes h, which was stored, so that records of a type with fields are written. Fields that
// are added get their defaults from the record at defaults.
func (h *header) adopt(fields []typeField, e Evolution, defaults unsafe.Pointer) error {
	before := h.all(h.Current)
	wasHot := h.hot(h.Current)
	var version, hot []int
	var d differences
	for i := range fields {
		stored, added, err := h.take(&fields[i], before, &d)
		if err != nil {
			return err
		}
		if err := h.setDefault(stored, &fields[i], added, defaults); err != nil {
			return err
		}
		if fields[i].hot {
			hot = append(hot, stored.Number)
		} else {
			version = append(version, stored.Number)
		}
	}
	if len(d.missing) > 0 && e == Keep {
		return mismatch(errors.New("the type lacks the stored "+plural(d.missing)+", which are parts of fields"),
			"give the type these fields, or set Options.Evolve to Drop, with which they are gone")
	}
	for _, number := range before {
		if slices.Contains(version, number) || slices.Contains(hot, number) {
			continue
		}
		d.missing = append(d.missing, h.field(number).Name)
		switch {
		case e == Keep && slices.Contains(wasHot, number):
			hot = append(hot, number)
		case e == Keep:
			version = append(version, number)
		}
	}
	if err := e.allows(d.added, d.missing); err != nil {
		return err
	}
	h.use(version, hot)
	return nil
}

// take returns the stored field of f, made new or renamed where that is needed, and whether it
// comes to the records now.
func (h *header) take(f *typeField, before []int, d *differences) (stored *headerField, added bool, err error) {
	if stored = h.fieldNamed(f.name); stored == nil && f.was != "" {
		stored = h.rename(f.was, f.name)
	}
	if stored == nil {
		if err := h.distinct(f.name); err != nil {
			return nil, false, err
		}
		number := 1
		for _, other := range h.Fields {
			number = max(number, other.Number+1)
		}
		h.Fields = append(h.Fields, headerField{Number: number, Name: f.name, form: f.form})
		stored = &h.Fields[len(h.Fields)-1]
	}
	if added = !slices.Contains(before, stored.Number); added {
		d.added = append(d.added, f.name)
	}
	return stored, added, stored.fit(f.form, f.name, d)
}

// rename gives a stored field another name, everywhere but in JSON.
func (h *header) rename(old, name string) *headerField {
	f := h.fieldNamed(old)
	if f == nil {
		return nil
	}
	if f.Name = name; h.Codec == JSON.String() {
		f.Label = cmp.Or(f.Label, old)
	}
	if h.ID == old {
		h.ID = name
	}
	for _, x := range h.Indexes {
		for i := range x.Fields {
			if x.Fields[i] == old {
				x.Fields[i] = name
			}
		}
	}
	return f
}

// distinct refuses the name of a new field that a codec would take for one that is in old records:
// JSON does not tell upper from lower case.
func (h *header) distinct(name string) error {
	for i := range h.Fields {
		if f := &h.Fields[i]; strings.EqualFold(f.Name, name) || strings.EqualFold(f.Label, name) {
			return mismatch(fmt.Errorf("the new field %s is called like the stored field %s", name, f.Name),
				"give the new field another name; upper and lower case are not told apart")
		}
	}
	return nil
}

// setDefault notes what records have that lack a field of the type: its value in the record at
// defaults if the field is added now, or by a program that did not note it. Another one later is a
// Conflict; zero asks for nothing.
func (h *header) setDefault(stored *headerField, f *typeField, added bool, defaults unsafe.Pointer) error {
	lacked := false
	for i := range h.Versions {
		lacked = lacked || !slices.Contains(h.all(i), stored.Number)
	}
	if !added && !lacked {
		return nil
	}
	s := newShape(f.typ, &stored.form)
	asked := s.append([]byte{}, unsafe.Add(defaults, f.offset))
	zero := s.append([]byte{}, reflect.New(f.typ).UnsafePointer())
	switch {
	case added || stored.Default == nil:
		stored.Default = asked
	case !bytes.Equal(asked, stored.Default) && !bytes.Equal(asked, zero):
		return mismatch(fmt.Errorf("field %s was added with another default", f.name),
			"leave it out of Options.Default: a default is fixed when its field is added; put the records anew to change them")
	}
	return nil
}

func (e Evolution) allows(added, missing []string) error {
	var differences []string
	if len(added) > 0 && e == Refuse {
		differences = append(differences, "the type has the new "+plural(added))
	}
	if len(missing) > 0 && e < Keep {
		differences = append(differences, "the type lacks the stored "+plural(missing))
	}
	if len(differences) == 0 {
		return nil
	}
	hint := "set Options.Evolve to Extend to add fields; tag a field that has another name now was=old"
	if len(missing) > 0 {
		hint = "set Options.Evolve to Keep or Drop, which says what becomes of them; tag a field that has another name now was=old"
	}
	return mismatch(errors.New(strings.Join(differences, "; ")), hint)
}

func plural(names []string) string {
	if len(names) == 1 {
		return "field " + names[0]
	}
	return "fields " + strings.Join(names, ", ")
}

// mismatch is the error of a type that is not the collection's.
func mismatch(err error, hint string) error { return conflict("open collection", err, hint) }
