package record

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"
	"unsafe"
)

// shadow is a struct type made for encoding/json: the fields of the program's type, under the
// stored names and of plain types, so that tags and methods of the program's type do not change
// what is stored. What is made of other values is text that is ready.
//
// Where the program's type has exactly these fields in memory, a pointer to it is used as one to
// the shadow. Otherwise values are copied into one from a pool and out of it.
type shadow struct {
	slots []slot
	typ   reflect.Type
	same  bool
	times []int     // indexes of the slots that are times
	pool  sync.Pool // of *shadowValue
}

type shadowValue struct {
	p   unsafe.Pointer
	any any // p as a pointer to the shadow
}

// newShadow returns the shadow of slots, of a program's type of some size, under the names that
// label returns.
func newShadow(slots []slot, size uintptr, label func(number int) string) *shadow {
	var fields []reflect.StructField
	for _, s := range slots {
		f := reflect.StructField{Name: fmt.Sprint("F", s.number), Type: kinds[s.kind].typ,
			Tag: reflect.StructTag(fmt.Sprintf("json:%q", label(s.number)))}
		if f.Type == nil {
			f.Type = reflect.TypeFor[json.RawMessage]()
		}
		fields = append(fields, f)
	}
	sh := &shadow{slots: slots, typ: reflect.StructOf(fields)}
	sh.same = sh.typ.Size() == size
	for i, s := range slots {
		if s.kind == kindTime {
			sh.times = append(sh.times, i)
		}
		sh.same = sh.same && s.base == inRecord && s.kind.scalar() && s.offset == sh.typ.Field(i).Offset
	}
	sh.pool.New = func() any {
		v := reflect.New(sh.typ)
		return &shadowValue{p: v.UnsafePointer(), any: v.Interface()}
	}
	return sh
}

// place returns where slot i of a shadow at p is.
func (sh *shadow) place(p unsafe.Pointer, i int) unsafe.Pointer {
	return unsafe.Add(p, sh.typ.Field(i).Offset)
}

// plain copies a value whose type is made of a kind.
func plain(s *slot, to, from unsafe.Pointer) {
	valueAt(s.kind, to).Set(valueAt(s.kind, from))
}

// encode calls fn with a pointer to a shadow of m, with times in UTC: text rounds an offset to
// minutes, which moves them.
func (sh *shadow) encode(m memory, fn func(v any) error) error {
	if sh.same && !slices.ContainsFunc(sh.times, func(i int) bool { return elsewhere(sh.slots[i].at(m)) }) {
		return fn(reflect.NewAt(sh.typ, m.rec).Interface())
	}
	v := sh.pool.Get().(*shadowValue)
	defer sh.put(v)
	for i := range sh.slots {
		s := &sh.slots[i]
		if s.kind.scalar() {
			plain(s, sh.place(v.p, i), s.at(m))
			continue
		}
		text, err := s.shape.appendJSON(nil, s.at(m))
		if err != nil {
			return err
		}
		*(*json.RawMessage)(sh.place(v.p, i)) = text
	}
	sh.clean(v.p)
	return fn(v.any)
}

// elsewhere reports whether the time at p is not in UTC.
func elsewhere(p unsafe.Pointer) bool { return (*time.Time)(p).Location() != time.UTC }

// decode calls fn with a pointer to a shadow, which it fills, and moves what that holds to m.
// Fields that fn does not touch stay as they are.
func (sh *shadow) decode(m memory, fn func(v any) error) error {
	if sh.same {
		err := fn(reflect.NewAt(sh.typ, m.rec).Interface())
		sh.clean(m.rec)
		return err
	}
	v := sh.pool.Get().(*shadowValue)
	defer sh.put(v)
	for i := range sh.slots {
		if s := &sh.slots[i]; s.kind.scalar() && s.at(m) != nil {
			plain(s, sh.place(v.p, i), s.at(m))
		}
	}
	if err := fn(v.any); err != nil {
		return err
	}
	sh.clean(v.p)
	for i := range sh.slots {
		s := &sh.slots[i]
		at := s.at(m)
		if at == nil {
			continue
		}
		if s.kind.scalar() {
			plain(s, at, sh.place(v.p, i))
		} else if text := *(*json.RawMessage)(sh.place(v.p, i)); text != nil {
			if err := s.shape.readJSON(text, at); err != nil {
				return fmt.Errorf("field %s: %w", s.name, err)
			}
		}
	}
	return nil
}

// put empties v, which must not keep what it pointed to, and gives it back.
func (sh *shadow) put(v *shadowValue) {
	reflect.NewAt(sh.typ, v.p).Elem().SetZero()
	sh.pool.Put(v)
}

// clean makes times those of UTC.
func (sh *shadow) clean(p unsafe.Pointer) {
	for _, i := range sh.times {
		t := (*time.Time)(sh.place(p, i))
		*t = t.UTC()
	}
}

// single makes shadows of one field each, for reading fields alone.
type single struct {
	label func(number int) string
	mu    sync.Mutex
	all   map[int]*shadow // by number
}

// of returns the shadow of a field. Its memory is that of the field alone.
func (one *single) of(s *slot) *shadow {
	one.mu.Lock()
	defer one.mu.Unlock()
	if sh := one.all[s.number]; sh != nil {
		return sh
	}
	alone := *s
	alone.base, alone.offset = inRecord, 0
	sh := newShadow([]slot{alone}, s.shape.typ.Size(), one.label)
	if one.all == nil {
		one.all = map[int]*shadow{}
	}
	one.all[s.number] = sh
	return sh
}
