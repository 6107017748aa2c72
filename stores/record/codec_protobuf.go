package record

import (
	"errors"
	"math"
	"time"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// protobufCodec writes a message whose field numbers are those of the header. Signed integers are sint64, unsigned ones
// uint64, times like google.protobuf.Timestamp. Every field is written, zero or not: an absent one was added later.
type protobufCodec struct {
	unpatchable
	slots    []slot // of the current version
	byNumber map[protowire.Number]*slot
}

func newProtobufCodec(s *schema) *protobufCodec {
	c := &protobufCodec{slots: s.slots(s.current), byNumber: map[protowire.Number]*slot{}}
	for number, slot := range s.place {
		c.byNumber[protowire.Number(number)] = &slot
	}
	return c
}

func (c *protobufCodec) encode(dst []byte, m memory) ([]byte, error) {
	for i := range c.slots {
		s := &c.slots[i]
		at := s.at(m)
		if s.kind == kindString && !utf8.ValidString(*(*string)(at)) {
			return dst, notText(s, at)
		}
		dst = protowire.AppendTag(dst, protowire.Number(s.number), wireType(s.kind))
		switch {
		case s.kind.signed():
			dst = protowire.AppendVarint(dst, protowire.EncodeZigZag(loadInt(s.kind, at)))
		case s.kind.unsigned():
			dst = protowire.AppendVarint(dst, loadUint(s.kind, at))
		default:
			dst = appendProtobuf(dst, s.kind, at)
		}
	}
	return dst, nil
}

// notText is the error of a string that a codec of UTF-8 text cannot hold.
func notText(s *slot, at unsafe.Pointer) error {
	return invalid("encode", errors.New("field "+s.name+" is not valid UTF-8: "+format(s.kind, at)),
		"make the field a []byte, or choose the codec Binary")
}

func wireType(k kind) protowire.Type {
	switch k {
	case kindFloat32:
		return protowire.Fixed32Type
	case kindFloat64:
		return protowire.Fixed64Type
	case kindString, kindBytes, kindTime:
		return protowire.BytesType
	}
	return protowire.VarintType
}

func appendProtobuf(dst []byte, k kind, at unsafe.Pointer) []byte {
	switch k {
	case kindBool:
		return protowire.AppendVarint(dst, protowire.EncodeBool(*(*bool)(at)))
	case kindFloat32:
		return protowire.AppendFixed32(dst, math.Float32bits(*(*float32)(at)))
	case kindFloat64:
		return protowire.AppendFixed64(dst, math.Float64bits(*(*float64)(at)))
	case kindString:
		return protowire.AppendString(dst, *(*string)(at))
	case kindTime:
		return appendTimestamp(dst, *(*time.Time)(at))
	}
	return protowire.AppendBytes(dst, *(*[]byte)(at))
}

func appendTimestamp(dst []byte, t time.Time) []byte {
	seconds, nanos := uint64(t.Unix()), uint64(t.Nanosecond())
	size := 2 + protowire.SizeVarint(seconds) + protowire.SizeVarint(nanos)
	dst = protowire.AppendVarint(dst, uint64(size))
	dst = protowire.AppendVarint(protowire.AppendTag(dst, 1, protowire.VarintType), seconds)
	return protowire.AppendVarint(protowire.AppendTag(dst, 2, protowire.VarintType), nanos)
}

func (c *protobufCodec) decode(data []byte, m memory) error {
	for next := 0; len(data) > 0; next++ {
		s, value, rest, err := c.cut(data, next)
		if err != nil {
			return err
		}
		if at := s.at(m); at != nil {
			if err := readProtobuf(value, s.kind, at); err != nil {
				return corrupt("field %s: protobuf: %w", s.name, err)
			}
		}
		data = rest
	}
	return nil
}

func (c *protobufCodec) field(data []byte, want *slot, p unsafe.Pointer) error {
	for next := 0; len(data) > 0; next++ {
		s, value, rest, err := c.cut(data, next)
		if err != nil {
			return err
		}
		if s.number == want.number {
			if err := readProtobuf(value, want.kind, p); err != nil {
				return corrupt("field %s: protobuf: %w", s.name, err)
			}
			return nil
		}
		data = rest
	}
	return nil
}

// cut returns the field at the start of data, which is probably the one numbered next, and what follows it.
func (c *protobufCodec) cut(data []byte, next int) (s *slot, value, rest []byte, err error) {
	number, typ, n := protowire.ConsumeTag(data)
	if n < 0 {
		return nil, nil, nil, corrupt("protobuf: %w", protowire.ParseError(n))
	}
	if next < len(c.slots) && c.slots[next].number == int(number) {
		s = &c.slots[next]
	} else if s = c.byNumber[number]; s == nil {
		return nil, nil, nil, corrupt("unknown field %d", number)
	}
	data = data[n:]
	if typ != wireType(s.kind) {
		return nil, nil, nil, corrupt("field %s has wire type %d", s.name, typ)
	}
	if n = protowire.ConsumeFieldValue(number, typ, data); n < 0 {
		return nil, nil, nil, corrupt("field %s: protobuf: %w", s.name, protowire.ParseError(n))
	}
	return s, data[:n], data[n:], nil
}

// readProtobuf sets the value at p to data, which is one whole value of the kind's wire type.
func readProtobuf(data []byte, k kind, p unsafe.Pointer) error {
	switch wireType(k) {
	case protowire.VarintType:
		n, _ := protowire.ConsumeVarint(data)
		switch {
		case k.signed():
			return storeInt(k, p, protowire.DecodeZigZag(n))
		case k.unsigned():
			return storeUint(k, p, n)
		}
		*(*bool)(p) = protowire.DecodeBool(n)
	case protowire.Fixed32Type:
		*(*uint32)(p), _ = protowire.ConsumeFixed32(data)
	case protowire.Fixed64Type:
		*(*uint64)(p), _ = protowire.ConsumeFixed64(data)
	default:
		b, _ := protowire.ConsumeBytes(data)
		if k == kindTime {
			return readTimestamp(b, p)
		}
		return storeValue(k, p, b)
	}
	return nil
}

func readTimestamp(data []byte, p unsafe.Pointer) error {
	var parts [3]uint64 // by number
	for len(data) > 0 {
		number, typ, n := protowire.ConsumeTag(data)
		if n < 0 || typ != protowire.VarintType || number > 2 {
			return errors.New("not a timestamp")
		}
		v, m := protowire.ConsumeVarint(data[n:])
		if m < 0 {
			return protowire.ParseError(m)
		}
		parts[number] = v
		data = data[n+m:]
	}
	return storeTime(p, int64(parts[1]), int64(parts[2]))
}
