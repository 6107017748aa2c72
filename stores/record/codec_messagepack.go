package record

import (
	"time"
	"unsafe"

	"github.com/tinylib/msgp/msgp"
)

// messagePackCodec writes a map from names to values with the runtime of msgp, whose generator would need the program's
// source; the plan of slots stands in for the generated code.
type messagePackCodec struct {
	unpatchable
	slots  []slot // of the current version
	byName map[string]*slot
}

func (c *messagePackCodec) encode(dst []byte, m memory) ([]byte, error) {
	dst = msgp.AppendMapHeader(dst, uint32(len(c.slots)))
	for i := range c.slots {
		s := &c.slots[i]
		dst = msgp.AppendString(dst, s.name)
		at := s.at(m)
		switch {
		case s.kind.signed():
			dst = msgp.AppendInt64(dst, loadInt(s.kind, at))
		case s.kind.unsigned():
			dst = msgp.AppendUint64(dst, loadUint(s.kind, at))
		default:
			dst = appendMessagePack(dst, s.kind, at)
		}
	}
	return dst, nil
}

func appendMessagePack(dst []byte, k kind, at unsafe.Pointer) []byte {
	switch k {
	case kindBool:
		return msgp.AppendBool(dst, *(*bool)(at))
	case kindFloat32:
		return msgp.AppendFloat32(dst, *(*float32)(at))
	case kindFloat64:
		return msgp.AppendFloat64(dst, *(*float64)(at))
	case kindString:
		return msgp.AppendString(dst, *(*string)(at))
	case kindTime:
		return msgp.AppendTimeExt(dst, *(*time.Time)(at)) // the time of the specification, not msgp's own
	}
	return msgp.AppendBytes(dst, *(*[]byte)(at))
}

func (c *messagePackCodec) decode(data []byte, m memory) error {
	return c.each(data, func(s *slot, data []byte) ([]byte, bool, error) {
		at := s.at(m)
		if at == nil {
			rest, err := msgp.Skip(data)
			return rest, true, err
		}
		rest, err := readMessagePack(data, s.kind, at)
		return rest, true, err
	})
}

func (c *messagePackCodec) field(data []byte, want *slot, p unsafe.Pointer) error {
	return c.each(data, func(s *slot, data []byte) (rest []byte, more bool, err error) {
		if s.number != want.number {
			rest, err = msgp.Skip(data)
			return rest, true, err
		}
		rest, err = readMessagePack(data, want.kind, p)
		return rest, false, err
	})
}

// each calls fn with each field and the data that begins with its value, until it returns false.
func (c *messagePackCodec) each(data []byte, fn func(s *slot, data []byte) (rest []byte, more bool, err error)) error {
	n, data, err := msgp.ReadMapHeaderBytes(data)
	if err != nil {
		return corrupt("msgpack: %w", err)
	}
	for next := range int(n) {
		name, rest, err := msgp.ReadMapKeyZC(data)
		if err != nil {
			return corrupt("msgpack: %w", err)
		}
		s := lookup(name, next, c.slots, c.byName)
		if s == nil {
			return corrupt("unknown field %q", name)
		}
		rest, more, err := fn(s, rest)
		if err != nil {
			return corrupt("field %s: msgpack: %w", s.name, err)
		}
		if !more {
			return nil
		}
		data = rest
	}
	if len(data) > 0 {
		return corrupt("%d bytes behind the record", len(data))
	}
	return nil
}

func readMessagePack(data []byte, k kind, at unsafe.Pointer) (rest []byte, err error) {
	switch {
	case k.signed():
		n, rest, err := msgp.ReadInt64Bytes(data)
		if err == nil {
			err = storeInt(k, at, n)
		}
		return rest, err
	case k.unsigned():
		n, rest, err := msgp.ReadUint64Bytes(data)
		if err == nil {
			err = storeUint(k, at, n)
		}
		return rest, err
	}
	switch k {
	case kindBool:
		*(*bool)(at), rest, err = msgp.ReadBoolBytes(data)
	case kindFloat32:
		*(*float32)(at), rest, err = msgp.ReadFloat32Bytes(data)
	case kindFloat64:
		*(*float64)(at), rest, err = msgp.ReadFloat64Bytes(data)
	case kindString:
		*(*string)(at), rest, err = msgp.ReadStringBytes(data)
	case kindTime:
		*(*time.Time)(at), rest, err = msgp.ReadTimeUTCBytes(data)
	default:
		var b []byte
		if b, rest, err = msgp.ReadBytesZC(data); err == nil {
			storeBytes(at, b)
		}
	}
	return rest, err
}
