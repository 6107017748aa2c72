package record

import (
	"encoding/binary"
	"unsafe"
)

// namesCodec writes for each field its name behind a length of one byte, then its value: little-endian in the size of its
// kind, strings and bytes behind their lengths.
type namesCodec struct {
	slots  []slot // of the current version
	byName map[string]*slot
}

func (c *namesCodec) encode(dst []byte, m memory) ([]byte, error) {
	for i := range c.slots {
		s := &c.slots[i]
		dst = append(append(dst, byte(len(s.name))), s.name...)
		at := s.at(m)
		switch s.kind {
		case kindString:
			dst = binary.AppendUvarint(dst, uint64(len(*(*string)(at))))
		case kindBytes:
			dst = binary.AppendUvarint(dst, uint64(len(*(*[]byte)(at))))
		}
		dst = appendValue(dst, s.kind, at)
	}
	return dst, nil
}

func (c *namesCodec) decode(data []byte, m memory) error {
	for next := 0; len(data) > 0; next++ {
		s, value, rest, err := c.cut(data, next)
		if err != nil {
			return err
		}
		if at := s.at(m); at != nil {
			if err := storeValue(s.kind, at, value); err != nil {
				return corrupt("field %s: %w", s.name, err)
			}
		}
		data = rest
	}
	return nil
}

// cut returns the field at the start of data, which is probably the one numbered next, and what follows it.
func (c *namesCodec) cut(data []byte, next int) (s *slot, value, rest []byte, err error) {
	n := int(data[0])
	if n >= len(data) {
		return nil, nil, nil, corrupt("a name runs over the end of the record")
	}
	name := data[1 : 1+n]
	if s = lookup(name, next, c.slots, c.byName); s == nil {
		return nil, nil, nil, corrupt("unknown field %q", name)
	}
	data = data[1+n:]
	if size := s.kind.size(); size > 0 {
		if len(data) < size {
			return nil, nil, nil, corrupt("field %s runs over the end of the record", s.name)
		}
		return s, data[:size], data[size:], nil
	}
	value, width, err := cutBytes(data)
	if err != nil {
		return nil, nil, nil, err
	}
	return s, value, data[width:], nil
}

// lookup returns the slot called name, which is probably slots[next], or nil.
func lookup(name []byte, next int, slots []slot, byName map[string]*slot) *slot {
	if next < len(slots) && slots[next].name == string(name) {
		return &slots[next]
	}
	return byName[string(name)]
}

func (c *namesCodec) field(data []byte, want *slot, p unsafe.Pointer) error {
	for next := 0; len(data) > 0; next++ {
		s, value, rest, err := c.cut(data, next)
		if err != nil {
			return err
		}
		if s.number == want.number {
			if err := storeValue(want.kind, p, value); err != nil {
				return corrupt("field %s: %w", s.name, err)
			}
			return nil
		}
		data = rest
	}
	return nil
}

// patch overwrites a field of fixed size.
func (c *namesCodec) patch(data []byte, want *slot, p unsafe.Pointer) bool {
	if want.kind.size() == 0 {
		return false
	}
	for next := 0; len(data) > 0; next++ {
		s, value, rest, err := c.cut(data, next)
		if err != nil {
			return false
		}
		if s.number == want.number {
			appendValue(value[:0], want.kind, p)
			return true
		}
		data = rest
	}
	return false
}
