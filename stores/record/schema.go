package record

import (
	"fmt"
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
	lent    []lentDefault
}

// lentDefault is a default that no two records may share the memory of.
type lentDefault struct {
	slot  slot
	value []byte
}

// memory is where the fields of one record are: in the program's struct, or in one that holds those
// stored fields that the program's type lacks. extra may be nil: such fields are then left out when
// decoding.
type memory struct{ rec, extra unsafe.Pointer }

// slot is one field: what it is and where it lies.
type slot struct {
	spot
	number int
	name   string
	shape  *shape
}

// spot is where the value of a kind lies.
type spot struct {
	kind   kind
	base   base
	offset uintptr
}

// base says which struct of a memory holds a slot.
type base uint8

const (
	inRecord base = iota
	inExtra
	nowhere // the field is passed over
)

// at returns where the value is, or nil.
func (s *spot) at(m memory) unsafe.Pointer {
	switch s.base {
	case inRecord:
		return unsafe.Add(m.rec, s.offset)
	case inExtra:
		if m.extra != nil {
			return unsafe.Add(m.extra, s.offset)
		}
	}
	return nil
}

// read sets the slot of m to the value in data.
func (s *slot) read(data []byte, m memory) error {
	if err := s.shape.read(data, s.at(m)); err != nil {
		return corrupt("field %s: %w", s.name, err)
	}
	return nil
}

func newSlot(f *headerField, t reflect.Type, b base, offset uintptr) slot {
	s := slot{spot: spot{base: b, offset: offset}, number: f.Number, name: f.Name, shape: newShape(t, &f.form)}
	s.kind = s.shape.kind
	return s
}

func newSchema(t reflect.Type, fields []typeField, h *header) *schema {
	s := &schema{header: h, current: h.Current, fields: fields, place: map[int]slot{}, size: t.Size()}
	for _, f := range fields {
		stored := h.fieldNamed(f.name)
		s.place[stored.Number] = newSlot(stored, f.typ, inRecord, f.offset)
		if f.id {
			s.id = f
		}
	}
	s.keep()
	for i := range h.Fields {
		if f := &h.Fields[i]; s.place[f.Number].shape == nil {
			s.place[f.Number] = newSlot(f, nil, nowhere, 0)
		}
	}
	return s
}

// keep makes room for the fields of the current version that the type lacks.
func (s *schema) keep() {
	var kept []reflect.StructField
	var stored []*headerField
	for _, number := range s.header.all(s.current) {
		if _, ok := s.place[number]; ok {
			continue
		}
		f := s.header.field(number)
		kept = append(kept, reflect.StructField{Name: fmt.Sprint("F", number), Type: f.typ()})
		stored = append(stored, f)
	}
	if len(kept) == 0 {
		return
	}
	s.extra = reflect.StructOf(kept)
	for i, f := range stored {
		s.place[f.Number] = newSlot(f, kept[i].Type, inExtra, s.extra.Field(i).Offset)
	}
}

// newExtra returns room for the kept fields with their defaults, or nil if there are none.
func (s *schema) newExtra() unsafe.Pointer {
	if s.extra == nil {
		return nil
	}
	m := memory{extra: reflect.New(s.extra).UnsafePointer()}
	for number, slot := range s.place {
		if value := s.header.field(number).Default; slot.base == inExtra && value != nil {
			_ = slot.read(value, m) // the header was checked
		}
	}
	return m.extra
}

// loadDefaults sets the fields of the record at p to the stored defaults.
func (s *schema) loadDefaults(p unsafe.Pointer) error {
	for _, slot := range s.place {
		value := s.header.field(slot.number).Default
		if value == nil || slot.base != inRecord {
			continue
		}
		if err := slot.read(value, memory{rec: p}); err != nil {
			return err
		}
		if slot.kind >= kindBytes && len(value) > 1 {
			s.lent = append(s.lent, lentDefault{slot, value})
		}
	}
	return nil
}

// detach gives what the record at p has of the defaults memory of its own.
func (s *schema) detach(p unsafe.Pointer) {
	for i := range s.lent {
		_ = s.lent[i].slot.read(s.lent[i].value, memory{rec: p}) // loadDefaults did the same
	}
}

// slots returns fields by their numbers.
func (s *schema) slots(numbers []int) []slot {
	var all []slot
	for _, number := range numbers {
		all = append(all, s.place[number])
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
