package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"
)

// unfit is why JSON cannot hold a value to the bit, and where that stands in the field.
type unfit struct{ path, what string }

func (u *unfit) of(field string) error { return errors.New("field " + field + u.path + " " + u.what) }

// in returns u as seen from what holds the value.
func (u *unfit) in(format string, args ...any) *unfit {
	if u != nil {
		u.path = fmt.Sprintf(format, args...) + u.path
	}
	return u
}

// unfit returns what is wrong with the value at p, or nil.
func (s *shape) unfit(p unsafe.Pointer) *unfit {
	switch s.kind {
	case kindString:
		if text := *(*string)(p); !utf8.ValidString(text) {
			return &unfit{what: "is not valid UTF-8: " + strconv.Quote(text)}
		}
	case kindFloat32, kindFloat64:
		if !finite(s.kind, p) {
			return &unfit{what: "is " + format(s.kind, p) + ", which JSON cannot express"}
		}
	case kindTime:
		if y := (*time.Time)(p).UTC().Year(); y < 0 || y > 9999 {
			return &unfit{what: "is in a year that RFC 3339 cannot express"}
		}
	case kindOptional:
		return s.unfitPointer(*(*unsafe.Pointer)(p))
	case kindList, kindArray:
		v := s.value(p)
		for i := range v.Len() {
			if u := s.elem.unfit(v.Index(i).Addr().UnsafePointer()); u != nil {
				return u.in("[%d]", i)
			}
		}
	case kindMap:
		for _, pair := range s.pairs(s.value(p)) {
			key := s.key.format(pair.key)
			if u := s.key.unfit(pair.key); u != nil {
				return u.in("[key %s]", key)
			}
			if u := s.elem.unfit(pair.value); u != nil {
				return u.in("[%s]", key)
			}
		}
	case kindStruct:
		for i := range s.fields {
			f := &s.fields[i]
			if at := f.at(p, f.offset); at != nil {
				if u := f.unfit(at); u != nil {
					return u.in(".%s", f.name)
				}
			}
		}
	}
	return nil
}

// unfitPointer refuses what is null in JSON as a nil pointer is.
func (s *shape) unfitPointer(p unsafe.Pointer) *unfit {
	if p == nil {
		return nil
	}
	switch v := s.elem.value(p); v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.IsNil() {
			return &unfit{what: "points to nil, which JSON cannot tell from nil"}
		}
	}
	return s.elem.unfit(p)
}

// appendJSON appends the value at p, which is fit: lists and arrays as arrays, maps and structs as
// objects.
func (s *shape) appendJSON(dst []byte, p unsafe.Pointer) (_ []byte, err error) {
	switch s.kind {
	case kindOptional:
		if p = *(*unsafe.Pointer)(p); p == nil {
			return append(dst, "null"...), nil
		}
		return s.elem.appendJSON(dst, p)
	case kindList, kindArray:
		v := s.value(p)
		if s.kind == kindList && v.IsNil() {
			return append(dst, "null"...), nil
		}
		dst = append(dst, '[')
		for i := range v.Len() {
			if dst, err = s.elem.appendJSON(comma(dst, i), v.Index(i).Addr().UnsafePointer()); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case kindMap:
		return s.appendJSONMap(dst, s.value(p))
	case kindStruct:
		dst = append(dst, '{')
		n := 0
		for i := range s.fields {
			f := &s.fields[i]
			at := f.at(p, f.offset)
			if at == nil {
				continue
			}
			dst = append(strconv.AppendQuote(comma(dst, n), f.label), ':')
			if dst, err = f.appendJSON(dst, at); err != nil {
				return dst, err
			}
			n++
		}
		return append(dst, '}'), nil
	}
	if s.kind == kindTime {
		utc := (*time.Time)(p).UTC()
		p = unsafe.Pointer(&utc)
	}
	return appendJSONOf(dst, reflect.NewAt(kinds[s.kind].typ, p).Interface())
}

func comma(dst []byte, n int) []byte {
	if n > 0 {
		return append(dst, ',')
	}
	return dst
}

func appendJSONOf(dst []byte, v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...), err
}

func (s *shape) appendJSONMap(dst []byte, v reflect.Value) (_ []byte, err error) {
	if v.IsNil() {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '{')
	for i, pair := range s.pairs(v) {
		key := format(s.key.kind, pair.key)
		if s.key.kind == kindString {
			key = *(*string)(pair.key)
		}
		if dst, err = appendJSONOf(comma(dst, i), key); err != nil {
			return dst, err
		}
		if dst, err = s.elem.appendJSON(append(dst, ':'), pair.value); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// readJSON sets the memory at p to the value that text is.
func (s *shape) readJSON(text []byte, p unsafe.Pointer) (err error) {
	null := string(text) == "null"
	switch s.kind {
	case kindOptional:
		if null {
			s.value(p).SetZero()
			return nil
		}
		v := reflect.New(s.elem.typ)
		s.value(p).Set(v)
		return s.elem.readJSON(text, v.UnsafePointer())
	case kindList, kindArray:
		return s.readJSONList(text, null, p)
	case kindMap:
		return s.readJSONMap(text, null, p)
	case kindStruct:
		var all map[string]json.RawMessage
		if err := json.Unmarshal(text, &all); err != nil {
			return err
		}
		for i := range s.fields {
			f := &s.fields[i]
			at := f.at(p, f.offset)
			if at == nil {
				continue
			}
			f.value(at).SetZero()
			if text, ok := all[f.label]; ok {
				if err := f.readJSON(text, at); err != nil {
					return fmt.Errorf("%s: %w", f.name, err)
				}
			}
		}
		return nil
	}
	if err := json.Unmarshal(text, reflect.NewAt(kinds[s.kind].typ, p).Interface()); err != nil {
		return err
	}
	if s.kind == kindTime {
		*(*time.Time)(p) = (*time.Time)(p).UTC()
	}
	return nil
}

func (s *shape) readJSONList(text []byte, null bool, p unsafe.Pointer) error {
	var all []json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	v := s.value(p)
	switch {
	case s.kind == kindArray && len(all) != s.n:
		return fmt.Errorf("%d elements, want %d", len(all), s.n)
	case s.kind == kindArray:
	case null:
		v.SetZero()
	default:
		v.Set(reflect.MakeSlice(s.typ, len(all), len(all)))
	}
	for i := range all {
		if err := s.elem.readJSON(all[i], v.Index(i).Addr().UnsafePointer()); err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
	}
	return nil
}

func (s *shape) readJSONMap(text []byte, null bool, p unsafe.Pointer) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	v := s.value(p)
	if null {
		v.SetZero()
		return nil
	}
	v.Set(reflect.MakeMapWithSize(s.typ, len(all)))
	for name, text := range all {
		key, value := reflect.New(s.key.typ), reflect.New(s.elem.typ)
		if s.key.kind == kindString {
			key.Elem().SetString(name)
		} else if err := json.Unmarshal([]byte(name), reflect.NewAt(kinds[s.key.kind].typ,
			key.UnsafePointer()).Interface()); err != nil {
			return err
		}
		if err := s.elem.readJSON(text, value.UnsafePointer()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		v.SetMapIndex(key.Elem(), value.Elem())
	}
	return nil
}
