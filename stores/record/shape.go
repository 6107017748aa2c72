package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"
)

// shape says how the values of a type are stored and where their parts lie in memory: a tree, as
// the type is one.
//
// A value is: of fixed size, little-endian; strings, bytes, lists and maps, their length and what
// they hold, of a map key and value in the order of keys; a pointer, 0 if it is nil or else 1 and
// what it points to; an array, its elements; a struct, how many fields follow, and these in the
// order in which the form has them. So a struct that was stored before its type got another field
// is read as what it is.
type shape struct {
	kind      kind
	typ       reflect.Type // of the program; nil for what the program's type lacks: it is stepped over
	n         int          // elements of an array
	key, elem *shape
	fields    []shapeField // of a struct, in the order of the form
}

type shapeField struct {
	*shape
	name   string
	label  string // in JSON
	offset uintptr
}

// newShape returns the shape of type t, or of none, in a form.
func newShape(t reflect.Type, f *form) *shape {
	s := &shape{kind: kindNamed(f.Kind), typ: t, n: f.Len}
	if t != nil && kindOf(t) < kindList {
		s.kind = kindOf(t) // an int is stored as an int64
	}
	part := func(f *form, of func() reflect.Type) *shape {
		switch {
		case f == nil:
			return nil
		case t == nil:
			return newShape(nil, f)
		}
		return newShape(of(), f)
	}
	s.elem = part(f.Elem, func() reflect.Type { return t.Elem() })
	s.key = part(f.Key, func() reflect.Type { return t.Key() })
	var parts []typeField
	if s.kind == kindStruct && t != nil {
		parts, _ = structFields(t, nil) // Open has seen them
	}
	for i := range f.Fields {
		field := shapeField{name: f.Fields[i].Name, label: f.Fields[i].label()}
		at := slices.IndexFunc(parts, func(p typeField) bool { return p.name == field.name })
		if at < 0 {
			field.shape = newShape(nil, &f.Fields[i].form)
		} else {
			field.shape, field.offset = newShape(parts[at].typ, &f.Fields[i].form), parts[at].offset
		}
		s.fields = append(s.fields, field)
	}
	return s
}

// at returns where a part of the memory at p lies, or nil.
func (s *shape) at(p unsafe.Pointer, offset uintptr) unsafe.Pointer {
	if p == nil || s.typ == nil {
		return nil
	}
	return unsafe.Add(p, offset)
}

// value returns what is at p.
func (s *shape) value(p unsafe.Pointer) reflect.Value { return reflect.NewAt(s.typ, p).Elem() }

// copyTo copies the value at from. What it points to is shared.
func (s *shape) copyTo(to, from unsafe.Pointer) { s.value(to).Set(s.value(from)) }

// appendLength appends how long something is. What is empty, but not nil, is told apart by a byte
// more.
func appendLength(dst []byte, n int, isNil bool) []byte {
	if n == 0 && !isNil {
		return append(dst, 0x80, 0)
	}
	return binary.AppendUvarint(dst, uint64(n))
}

// cutLength returns the length at the start of data, of things that take at least so many bytes
// each.
func cutLength(data []byte, least int) (n int, isNil bool, rest []byte, err error) {
	length, width := binary.Uvarint(data)
	if width <= 0 || length > uint64(len(data)-width)/uint64(max(1, least)) {
		return 0, false, nil, errLength
	}
	return int(length), length == 0 && width == 1, data[width:], nil
}

var errLength = fmt.Errorf("a length runs over the end of the record")

// append appends the value at p. Without a type it is one that is zero.
func (s *shape) append(dst []byte, p unsafe.Pointer) []byte {
	if p == nil {
		return s.appendZero(dst)
	}
	switch s.kind {
	case kindString:
		text := *(*string)(p)
		return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
	case kindBytes:
		b := *(*[]byte)(p)
		return append(appendLength(dst, len(b), b == nil), b...)
	case kindOptional:
		if p = *(*unsafe.Pointer)(p); p == nil {
			return append(dst, 0)
		}
		return s.elem.append(append(dst, 1), p)
	case kindList:
		v := s.value(p)
		dst = appendLength(dst, v.Len(), v.IsNil())
		return s.appendElems(dst, v.UnsafePointer(), v.Len())
	case kindArray:
		return s.appendElems(dst, p, s.n)
	case kindMap:
		return s.appendMap(dst, s.value(p))
	case kindStruct:
		dst = binary.AppendUvarint(dst, uint64(len(s.fields)))
		for i := range s.fields {
			dst = s.fields[i].append(dst, s.fields[i].at(p, s.fields[i].offset))
		}
		return dst
	}
	return appendValue(dst, s.kind, p)
}

func (s *shape) appendElems(dst []byte, p unsafe.Pointer, n int) []byte {
	for i := range n {
		dst = s.elem.append(dst, unsafe.Add(p, uintptr(i)*s.elem.typ.Size()))
	}
	return dst
}

// appendZero appends the value of a field that the program's type lacks.
func (s *shape) appendZero(dst []byte) []byte {
	switch s.kind {
	case kindTime: // the zero Time is not that of zero bytes
		return appendValue(dst, s.kind, unsafe.Pointer(new(time.Time)))
	case kindArray:
	default:
		return append(dst, make([]byte, max(1, s.kind.size()))...)
	}
	for range s.n {
		dst = s.elem.appendZero(dst)
	}
	return dst
}

// pair is a key and a value of a map, in memory of their own.
type pair struct {
	ordered    []byte
	key, value unsafe.Pointer
}

// pairs returns what a map holds in the order of its keys.
func (s *shape) pairs(v reflect.Value) []pair {
	all := make([]pair, 0, v.Len())
	for each := v.MapRange(); each.Next(); {
		key, value := reflect.New(s.key.typ), reflect.New(s.elem.typ)
		key.Elem().Set(each.Key())
		value.Elem().Set(each.Value())
		p := pair{key: key.UnsafePointer(), value: value.UnsafePointer()}
		p.ordered = appendOrdered(nil, s.key.kind, p.key)
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b pair) int { return bytes.Compare(a.ordered, b.ordered) })
	return all
}

func (s *shape) appendMap(dst []byte, v reflect.Value) []byte {
	dst = appendLength(dst, v.Len(), v.IsNil())
	for _, p := range s.pairs(v) {
		dst = s.elem.append(s.key.append(dst, p.key), p.value)
	}
	return dst
}

// least is how many bytes a value takes at least.
func (s *shape) least() int {
	if s.kind == kindArray {
		return s.n * s.elem.least()
	}
	return max(1, s.kind.size())
}

// read sets the memory at p to the value that data is.
func (s *shape) read(data []byte, p unsafe.Pointer) error {
	rest, err := s.cut(data, p)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes behind the value", len(rest))
	}
	return err
}

// cut sets the memory at p, unless it is nil, to the value at the start of data, and returns what
// follows.
func (s *shape) cut(data []byte, p unsafe.Pointer) (rest []byte, err error) {
	switch s.kind {
	case kindString, kindBytes:
		return s.cutText(data, p)
	case kindOptional:
		return s.cutOptional(data, p)
	case kindList:
		return s.cutList(data, p)
	case kindArray:
		for i := range s.n {
			if data, err = s.elem.cut(data, s.elem.at(p, uintptr(i)*s.elem.width())); err != nil {
				return nil, err
			}
		}
		return data, nil
	case kindMap:
		return s.cutMap(data, p)
	case kindStruct:
		return s.cutStruct(data, p)
	}
	size := s.kind.size()
	if len(data) < size {
		return nil, errLength
	}
	if p != nil {
		err = storeValue(s.kind, p, data[:size])
	}
	return data[size:], err
}

// width is what a value takes in memory.
func (s *shape) width() uintptr {
	if s.typ == nil {
		return 0
	}
	return s.typ.Size()
}

func (s *shape) cutText(data []byte, p unsafe.Pointer) ([]byte, error) {
	n, isNil, data, err := cutLength(data, 1)
	switch {
	case err != nil || p == nil:
	case s.kind == kindString:
		*(*string)(p) = string(data[:n])
	case isNil:
		*(*[]byte)(p) = nil
	default:
		storeBytes(p, data[:n])
	}
	return data[min(n, len(data)):], err
}

func (s *shape) cutOptional(data []byte, p unsafe.Pointer) ([]byte, error) {
	switch {
	case len(data) == 0 || data[0] > 1:
		return nil, fmt.Errorf("neither a value nor none")
	case data[0] == 0:
		if p != nil {
			s.value(p).SetZero()
		}
		return data[1:], nil
	case p == nil:
		return s.elem.cut(data[1:], nil)
	}
	v := reflect.New(s.elem.typ)
	s.value(p).Set(v)
	return s.elem.cut(data[1:], v.UnsafePointer())
}

func (s *shape) cutList(data []byte, p unsafe.Pointer) ([]byte, error) {
	n, isNil, data, err := cutLength(data, s.elem.least())
	if err != nil {
		return nil, err
	}
	var to unsafe.Pointer
	switch {
	case p == nil:
	case isNil:
		s.value(p).SetZero()
	default:
		list := reflect.MakeSlice(s.typ, n, n)
		s.value(p).Set(list)
		to = list.UnsafePointer()
	}
	for i := range n {
		if data, err = s.elem.cut(data, s.elem.at(to, uintptr(i)*s.elem.width())); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func (s *shape) cutMap(data []byte, p unsafe.Pointer) ([]byte, error) {
	n, isNil, data, err := cutLength(data, s.key.least()+s.elem.least())
	if err != nil {
		return nil, err
	}
	var all reflect.Value
	switch {
	case p == nil:
	case isNil:
		s.value(p).SetZero()
	default:
		all = reflect.MakeMapWithSize(s.typ, n)
		s.value(p).Set(all)
	}
	for range n {
		var key, value reflect.Value
		var k, v unsafe.Pointer
		if p != nil {
			key, value = reflect.New(s.key.typ), reflect.New(s.elem.typ)
			k, v = key.UnsafePointer(), value.UnsafePointer()
		}
		if data, err = s.key.cut(data, k); err == nil {
			data, err = s.elem.cut(data, v)
		}
		if err != nil {
			return nil, err
		}
		if p != nil {
			all.SetMapIndex(key.Elem(), value.Elem())
		}
	}
	return data, nil
}

// cutStruct reads fields that are known; those that the struct was stored without are zero.
func (s *shape) cutStruct(data []byte, p unsafe.Pointer) ([]byte, error) {
	n, width := binary.Uvarint(data)
	if width <= 0 || n > uint64(len(s.fields)) {
		return nil, fmt.Errorf("a struct of %d fields, of which %d are known", n, len(s.fields))
	}
	data = data[width:]
	for i := range s.fields {
		f := &s.fields[i]
		at := f.at(p, f.offset)
		var err error
		switch {
		case i < int(n):
			data, err = f.cut(data, at)
		case at != nil:
			f.value(at).SetZero()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return data, nil
}

// ordered reports whether values can be keys of an index: they, or what they point to, have an
// order.
func (s *shape) ordered() bool {
	return s.kind.scalar() || s.kind == kindOptional && s.elem.kind.scalar()
}

// appendOrdered appends the value at p so that the bytes sort as values do. A nil pointer comes
// before all values.
func (s *shape) appendOrdered(key []byte, p unsafe.Pointer) []byte {
	if s.kind != kindOptional {
		return appendOrdered(key, s.kind, p)
	}
	if p = *(*unsafe.Pointer)(p); p == nil {
		return append(key, 0)
	}
	return appendOrdered(append(key, 1), s.elem.kind, p)
}

// orderedLength returns how many bytes of key the value at its start takes, or -1.
func (s *shape) orderedLength(key []byte) int {
	n := 8
	switch s.kind {
	case kindOptional:
		if len(key) == 0 || key[0] > 1 {
			return -1
		}
		if n = 1; key[0] == 1 {
			if n += s.elem.orderedLength(key[1:]); n == 0 {
				return -1
			}
		}
	case kindBool:
		n = 1
	case kindTime:
		n = 12
	case kindString, kindBytes:
		return textID.length(key)
	}
	if len(key) < n {
		return -1
	}
	return n
}

// keyOf appends v, which a program gave, as appendOrdered does a value of this shape. Nil is a nil
// pointer.
func (s *shape) keyOf(key []byte, v any) ([]byte, error) {
	k, from := s.kind, reflect.ValueOf(v)
	if k == kindOptional {
		k = s.elem.kind
		if from.Kind() == reflect.Pointer {
			from = from.Elem()
		}
		if !from.IsValid() {
			return append(key, 0), nil
		}
		key = append(key, 1)
	}
	if !from.IsValid() || kindOf(from.Type()) != k {
		return nil, fmt.Errorf("%v is a %T, not a %v", v, v, kinds[k].typ)
	}
	p := reflect.New(kinds[k].typ)
	p.Elem().Set(from.Convert(kinds[k].typ))
	return appendOrdered(key, k, p.UnsafePointer()), nil
}

// format returns the value at p as a person reads it.
func (s *shape) format(p unsafe.Pointer) string {
	if s.kind.scalar() {
		return format(s.kind, p)
	}
	return fmt.Sprintf("%v", s.value(p))
}
