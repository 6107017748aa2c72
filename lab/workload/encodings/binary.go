package encodings

import (
	"encoding/binary"

	"github.com/tinylib/msgp/msgp"
	"google.golang.org/protobuf/encoding/protowire"
)

// namesCodec writes for each field its name behind a length of one byte, then its value:
// little-endian, strings behind their lengths.
type namesCodec struct{}

func (namesCodec) encode(dst []byte, u *User) ([]byte, error) {
	for i, p := range u.fields() {
		dst = append(append(dst, byte(len(fieldNames[i]))), fieldNames[i]...)
		if s, ok := p.(*string); ok {
			dst = binary.AppendUvarint(dst, uint64(len(*s)))
		}
		dst = appendField(dst, p)
	}
	return dst, nil
}

func (c namesCodec) decode(data []byte, u *User) error {
	*u = User{}
	fields := u.fields()
	return c.each(data, fields, func(i int, value []byte) (bool, error) { return true, storeField(fields[i], value) })
}

// each calls fn with the fields of a record until it returns false.
func (namesCodec) each(data []byte, like [len(fieldNames)]any, fn func(i int, value []byte) (bool, error)) error {
	for next := 0; len(data) > 0; next++ {
		n := int(data[0])
		if n >= len(data) {
			return corrupt("a name runs over the end")
		}
		i := fieldNamed(data[1:1+n], next)
		if i < 0 {
			return corrupt("unknown field %q", data[1:1+n])
		}
		data = data[1+n:]
		size := sizeOf(like[i])
		if size == 0 {
			length, width := binary.Uvarint(data)
			if width <= 0 || length > uint64(len(data)-width) {
				return corrupt("a length runs over the end")
			}
			data, size = data[width:], int(length)
		}
		if size > len(data) {
			return corrupt("field %s runs over the end", fieldNames[i])
		}
		more, err := fn(i, data[:size])
		if err != nil || !more {
			return err
		}
		data = data[size:]
	}
	return nil
}

// kindsOfFields says what the fields are, to who decodes none.
var kindsOfFields = new(User).fields()

func (c namesCodec) find(data []byte) (found []byte, err error) {
	err = c.each(data, kindsOfFields, func(i int, value []byte) (bool, error) {
		if i == balanceField {
			found = value
		}
		return found == nil, nil
	})
	if err == nil && found == nil {
		err = errNoBalance
	}
	return found, err
}

func (c namesCodec) balance(data []byte) (v float64, err error) {
	found, err := c.find(data)
	if err == nil {
		err = storeField(&v, found)
	}
	return v, err
}

func (c namesCodec) setBalance(data []byte, v float64) error {
	found, err := c.find(data)
	if err == nil {
		appendField(found[:0], &v)
	}
	return err
}

// messagePackCodec writes a map from names to values with the runtime of msgp.
type messagePackCodec struct{}

func (messagePackCodec) encode(dst []byte, u *User) ([]byte, error) {
	dst = msgp.AppendMapHeader(dst, uint32(len(fieldNames)))
	for i, p := range u.fields() {
		dst = msgp.AppendString(dst, fieldNames[i])
		switch p := p.(type) {
		case *int64:
			dst = msgp.AppendInt64(dst, *p)
		case *int32:
			dst = msgp.AppendInt64(dst, int64(*p))
		case *float64:
			dst = msgp.AppendFloat64(dst, *p)
		case *float32:
			dst = msgp.AppendFloat32(dst, *p)
		case *bool:
			dst = msgp.AppendBool(dst, *p)
		case *string:
			dst = msgp.AppendString(dst, *p)
		}
	}
	return dst, nil
}

func (c messagePackCodec) decode(data []byte, u *User) error {
	*u = User{}
	fields := u.fields()
	return c.each(data, func(i int, data []byte) (rest []byte, more bool, err error) {
		switch p := fields[i].(type) {
		case *int64:
			*p, rest, err = msgp.ReadInt64Bytes(data)
		case *int32:
			*p, rest, err = msgp.ReadInt32Bytes(data)
		case *float64:
			*p, rest, err = msgp.ReadFloat64Bytes(data)
		case *float32:
			*p, rest, err = msgp.ReadFloat32Bytes(data)
		case *bool:
			*p, rest, err = msgp.ReadBoolBytes(data)
		case *string:
			*p, rest, err = msgp.ReadStringBytes(data)
		}
		return rest, true, err
	})
}

// each calls fn with each field and the data that begins with its value, until it returns false.
func (messagePackCodec) each(data []byte, fn func(i int, data []byte) (rest []byte, more bool, err error)) error {
	n, data, err := msgp.ReadMapHeaderBytes(data)
	if err != nil {
		return corrupt("msgpack: %w", err)
	}
	for next := range int(n) {
		name, rest, err := msgp.ReadMapKeyZC(data)
		if err != nil {
			return corrupt("msgpack: %w", err)
		}
		i := fieldNamed(name, next)
		if i < 0 {
			return corrupt("unknown field %q", name)
		}
		rest, more, err := fn(i, rest)
		if err != nil {
			return corrupt("field %s: msgpack: %w", fieldNames[i], err)
		}
		if !more {
			return nil
		}
		data = rest
	}
	return nil
}

func (c messagePackCodec) balance(data []byte) (v float64, err error) {
	err = c.each(data, func(i int, data []byte) (rest []byte, more bool, err error) {
		if i == balanceField {
			v, rest, err = msgp.ReadFloat64Bytes(data)
			return rest, false, err
		}
		rest, err = msgp.Skip(data)
		return rest, true, err
	})
	return v, err
}

// protobufCodec writes a message whose fields are numbered from 1. Integers are sint64. Every field
// is written.
type protobufCodec struct{}

func wireType(p any) protowire.Type {
	switch p.(type) {
	case *float64:
		return protowire.Fixed64Type
	case *float32:
		return protowire.Fixed32Type
	case *string:
		return protowire.BytesType
	}
	return protowire.VarintType
}

func (protobufCodec) encode(dst []byte, u *User) ([]byte, error) {
	for i, p := range u.fields() {
		dst = protowire.AppendTag(dst, protowire.Number(i+1), wireType(p))
		switch p := p.(type) {
		case *int64:
			dst = protowire.AppendVarint(dst, protowire.EncodeZigZag(*p))
		case *int32:
			dst = protowire.AppendVarint(dst, protowire.EncodeZigZag(int64(*p)))
		case *bool:
			dst = protowire.AppendVarint(dst, protowire.EncodeBool(*p))
		case *string:
			dst = protowire.AppendString(dst, *p)
		default:
			dst = appendField(dst, p) // fixed, little-endian
		}
	}
	return dst, nil
}

func (c protobufCodec) decode(data []byte, u *User) error {
	*u = User{}
	fields := u.fields()
	return c.each(data, func(i int, value []byte) (bool, error) {
		switch p := fields[i].(type) {
		case *int64:
			n, _ := protowire.ConsumeVarint(value)
			*p = protowire.DecodeZigZag(n)
		case *int32:
			n, _ := protowire.ConsumeVarint(value)
			*p = int32(protowire.DecodeZigZag(n))
		case *bool:
			n, _ := protowire.ConsumeVarint(value)
			*p = protowire.DecodeBool(n)
		case *string:
			b, _ := protowire.ConsumeBytes(value)
			*p = string(b)
		default:
			return true, storeField(p, value)
		}
		return true, nil
	})
}

// each calls fn with the value of each field, of its wire type, until it returns false.
func (protobufCodec) each(data []byte, fn func(i int, value []byte) (bool, error)) error {
	for len(data) > 0 {
		number, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return corrupt("protobuf: %w", protowire.ParseError(n))
		}
		i := int(number) - 1
		if i >= len(fieldNames) || typ != wireType(kindsOfFields[i]) {
			return corrupt("field %d of wire type %d", number, typ)
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(number, typ, data); n < 0 {
			return corrupt("field %s: protobuf: %w", fieldNames[i], protowire.ParseError(n))
		}
		more, err := fn(i, data[:n])
		if err != nil || !more {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (c protobufCodec) balance(data []byte) (v float64, err error) {
	err = c.each(data, func(i int, value []byte) (bool, error) {
		if i != balanceField {
			return true, nil
		}
		return false, storeField(&v, value)
	})
	return v, err
}
