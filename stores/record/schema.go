package record

import (
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// schema is a header seen from the program's type: where each stored field goes.
type schema struct {
	header  *header
	current int
	fields  []typeField
	id      typeField
	extra   reflect.Type // struct of the stored fields that the type lacks and keeps; nil if there are none
	place   map[int]slot // by number of the field
	size    uintptr      // of the program's type

	ownBytes bool // a default has bytes, which no two records may share
}

func newSchema(t reflect.Type, fields []typeField, h *header) *schema {
	s := &schema{header: h, current: h.Current, fields: fields, place: map[int]slot{}, size: t.Size()}
	for _, f := range fields {
		number := h.fieldNamed(f.name).Number
		s.place[number] = slot{number: number, name: f.name, kind: f.kind, offset: f.offset}
		if f.id {
			s.id = f
		}
	}
	s.keep()
	for _, f := range h.Fields {
		if _, ok := s.place[f.Number]; !ok {
			s.place[f.Number] = slot{number: f.Number, name: f.Name, kind: kindNamed(f.Kind), base: nowhere}
		}
	}
	return s
}

// keep makes room for the fields of the current version that the type lacks.
func (s *schema) keep() {
	var kept []reflect.StructField
	var numbers []int
	for _, number := range s.header.Versions[s.current] {
		if _, ok := s.place[number]; ok {
			continue
		}
		f := s.header.field(number)
		kept = append(kept, reflect.StructField{Name: "F_" + f.Name, Type: kinds[kindNamed(f.Kind)].typ})
		numbers = append(numbers, number)
	}
	if len(kept) == 0 {
		return
	}
	s.extra = reflect.StructOf(kept)
	for i, number := range numbers {
		f := s.header.field(number)
		s.place[number] = slot{number: number, name: f.Name, kind: kindNamed(f.Kind), base: inExtra, offset: s.extra.Field(i).Offset}
	}
}

// newExtra returns room for the kept fields with their defaults, or nil if there are none.
func (s *schema) newExtra() unsafe.Pointer {
	if s.extra == nil {
		return nil
	}
	p := reflect.New(s.extra).UnsafePointer()
	for number, slot := range s.place {
		if value := s.header.field(number).Default; slot.base == inExtra && value != nil {
			_ = storeValue(slot.kind, unsafe.Add(p, slot.offset), value) // the header was checked
		}
	}
	return p
}

// loadDefaults sets the fields of the record at p to the stored defaults.
func (s *schema) loadDefaults(fields []typeField, p unsafe.Pointer) error {
	for _, f := range fields {
		if value := s.header.fieldNamed(f.name).Default; value != nil {
			if err := storeValue(f.kind, unsafe.Add(p, f.offset), value); err != nil {
				return corrupt("default of field %s: %w", f.name, err)
			}
			s.ownBytes = s.ownBytes || f.kind == kindBytes && len(value) > 0
		}
	}
	return nil
}

// detach gives the bytes of the record at p, which are those of the defaults, memory of their own.
func (s *schema) detach(p unsafe.Pointer) {
	for _, f := range s.fields {
		if at := unsafe.Add(p, f.offset); f.kind == kindBytes {
			storeBytes(at, *(*[]byte)(at))
		}
	}
}

// slots returns the fields of a version by number.
func (s *schema) slots(version int) []slot {
	var all []slot
	for _, number := range s.header.Versions[version] {
		all = append(all, s.place[number])
	}
	return all
}

// byName returns all fields that there ever were.
func (s *schema) byName() map[string]*slot {
	all := make(map[string]*slot, len(s.place))
	for _, p := range s.place {
		all[p.name] = &p
	}
	return all
}

// named returns the slot of a field of the type, or nil.
func (s *schema) named(name string) *slot {
	for _, p := range s.place {
		if p.name == name && p.base == inRecord {
			return &p
		}
	}
	return nil
}

// fieldNames returns the names of the type's fields, for hints.
func (s *schema) fieldNames() string {
	var names []string
	for _, f := range s.fields {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
