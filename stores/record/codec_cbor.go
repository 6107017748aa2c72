package record

import (
	"bytes"
	"sync"
	"time"
	"unsafe"

	"github.com/fxamacker/cbor/v2"
)

// cborCodec writes a map from names to values with fxamacker/cbor, the one kept and fuzzed CBOR library for Go.
type cborCodec struct {
	unpatchable
	shadow *shadow
	single single
	pool   sync.Pool // of *bytes.Buffer
}

var (
	cborEncoding = must(cbor.EncOptions{Time: cbor.TimeRFC3339Nano, NaNConvert: cbor.NaNConvertNone,
		InfConvert: cbor.InfConvertNone}.UserBufferEncMode())
	cborDecoding = must(cbor.DecOptions{FieldNameMatching: cbor.FieldNameMatchingCaseSensitive}.DecMode())
)

func must[M any](mode M, err error) M {
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}

func newCBORCodec(s *schema) (codec, error) {
	sh, err := newShadow(s.slots(s.current), s.size, "cbor")
	if err != nil {
		return nil, err
	}
	c := &cborCodec{shadow: sh, single: single{tag: "cbor"}}
	c.pool.New = func() any { return new(bytes.Buffer) }
	return c, nil
}

func (c *cborCodec) encode(dst []byte, m memory) ([]byte, error) {
	for i := range c.shadow.slots {
		s := &c.shadow.slots[i]
		switch s.kind {
		case kindString, kindTime:
			if err := textual(c.shadow.slots[i:i+1], m); err != nil {
				return dst, err
			}
		case kindFloat32:
			if at := s.at(m); signals(at) {
				return dst, notExact(s, at)
			}
		}
	}
	buf := c.pool.Get().(*bytes.Buffer)
	defer c.pool.Put(buf)
	buf.Reset()
	if err := c.shadow.encode(m, func(v any) error { return cborEncoding.MarshalToBuffer(v, buf) }); err != nil {
		return dst, invalid("encode", err, "")
	}
	return append(dst, buf.Bytes()...), nil
}

func (c *cborCodec) decode(data []byte, m memory) error {
	return decodeCBOR(c.shadow, data, m)
}

// decodeCBOR sets the fields of a shadow. The library writes a zero time as null, and reads null as
// nothing: a time that has a default is made zero first.
func decodeCBOR(sh *shadow, data []byte, m memory) error {
	for _, i := range sh.times {
		if at := (*time.Time)(sh.slots[i].at(m)); at != nil && !at.IsZero() && isNull(data, sh.slots[i].name) {
			*at = time.Time{}
		}
	}
	return sh.read("cbor", data, m, cborDecoding.Unmarshal)
}

// isNull reports whether the field called name is null in a map.
func isNull(data []byte, name string) bool {
	var raw map[string]cbor.RawMessage
	return cborDecoding.Unmarshal(data, &raw) == nil && string(raw[name]) == "\xf6"
}

// field decodes a map with one field of interest; the library steps over the others.
func (c *cborCodec) field(data []byte, s *slot, p unsafe.Pointer) error {
	sh, err := c.single.of(s)
	if err != nil {
		return err
	}
	return decodeCBOR(sh, data, memory{rec: p})
}
