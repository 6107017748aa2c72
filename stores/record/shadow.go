package record

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"
	"unsafe"
)

// shadow is a struct type made for a codec that works by reflection: the same fields as the program's type, under the
// stored names and of plain types, so that tags and methods of the program's type do not change what is stored.
//
// Where the program's type has exactly these fields in memory, a pointer to it is used as one to the shadow. Otherwise
// values are copied into one from a pool and out of it.
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

// newShadow returns the shadow of slots, of a program's type of some size, whose fields have the given tag.
func newShadow(slots []slot, size uintptr, tag string) (*shadow, error) {
	var fields []reflect.StructField
	names := map[string]bool{}
	for _, s := range slots {
		name := goName(s.name)
		if names[name] {
			return nil, invalid("open collection", fmt.Errorf("field %s has another's name for this codec", s.name), "rename it")
		}
		names[name] = true
		f := reflect.StructField{Name: name, Type: kinds[s.kind].typ}
		if tag != "" {
			f.Tag = reflect.StructTag(fmt.Sprintf("%s:%q", tag, s.name))
		}
		fields = append(fields, f)
	}
	sh := &shadow{slots: slots, typ: reflect.StructOf(fields)}
	sh.same = sh.typ.Size() == size
	for i, s := range slots {
		if s.kind == kindTime {
			sh.times = append(sh.times, i)
		}
		sh.same = sh.same && s.base == inRecord && s.offset == sh.typ.Field(i).Offset
	}
	sh.pool.New = func() any {
		v := reflect.New(sh.typ)
		return &shadowValue{p: v.UnsafePointer(), any: v.Interface()}
	}
	return sh, nil
}

// goName returns an exported name for a field: its own, if it begins with a capital.
func goName(name string) string {
	if c := name[0]; c >= 'A' && c <= 'Z' {
		return name
	}
	return "X" + name
}

// place returns where slot i of a shadow at p is.
func (sh *shadow) place(p unsafe.Pointer, i int) unsafe.Pointer {
	return unsafe.Add(p, sh.typ.Field(i).Offset)
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
		copyValue(sh.slots[i].kind, sh.place(v.p, i), sh.slots[i].at(m))
	}
	sh.clean(v.p)
	return fn(v.any)
}

// elsewhere reports whether the time at p is not in UTC.
func elsewhere(p unsafe.Pointer) bool { return (*time.Time)(p).Location() != time.UTC }

// decode calls fn with a pointer to a shadow, which it fills, and moves what that holds to m. Fields that fn does not
// touch stay as they are.
func (sh *shadow) decode(m memory, fn func(v any) error) error {
	if sh.same {
		if err := fn(reflect.NewAt(sh.typ, m.rec).Interface()); err != nil {
			return err
		}
		sh.clean(m.rec)
		return nil
	}
	v := sh.pool.Get().(*shadowValue)
	defer sh.put(v)
	for i := range sh.slots {
		if at := sh.slots[i].at(m); at != nil {
			copyValue(sh.slots[i].kind, sh.place(v.p, i), at)
		}
	}
	if err := fn(v.any); err != nil {
		return err
	}
	sh.clean(v.p)
	for i := range sh.slots {
		if at := sh.slots[i].at(m); at != nil {
			copyValue(sh.slots[i].kind, at, sh.place(v.p, i))
		}
	}
	return nil
}

// read is decode with a library's function. An error is Corrupt.
func (sh *shadow) read(codec string, data []byte, m memory, fn func(data []byte, to any) error) error {
	if err := sh.decode(m, func(v any) error { return fn(data, v) }); err != nil {
		return corrupt("%s: %w", codec, err)
	}
	return nil
}

// put empties v, which must not keep what it pointed to, and gives it back.
func (sh *shadow) put(v *shadowValue) {
	reflect.NewAt(sh.typ, v.p).Elem().SetZero()
	sh.pool.Put(v)
}

// clean makes what libraries read the same for all: times in UTC, and no bytes nil.
func (sh *shadow) clean(p unsafe.Pointer) {
	for i := range sh.slots {
		switch sh.slots[i].kind {
		case kindTime:
			t := (*time.Time)(sh.place(p, i))
			*t = t.UTC()
		case kindBytes:
			if b := (*[]byte)(sh.place(p, i)); len(*b) == 0 {
				*b = nil
			}
		}
	}
}

// single makes shadows of one field each, for reading fields alone.
type single struct {
	tag string
	mu  sync.Mutex
	all map[int]*shadow // by number
}

// of returns the shadow of a field. Its memory is that of the field alone.
func (one *single) of(s *slot) (*shadow, error) {
	one.mu.Lock()
	defer one.mu.Unlock()
	if sh := one.all[s.number]; sh != nil {
		return sh, nil
	}
	alone := *s
	alone.base, alone.offset = inRecord, 0
	sh, err := newShadow([]slot{alone}, kinds[s.kind].typ.Size(), one.tag)
	if err != nil {
		return nil, err
	}
	if one.all == nil {
		one.all = map[int]*shadow{}
	}
	one.all[s.number] = sh
	return sh, nil
}
