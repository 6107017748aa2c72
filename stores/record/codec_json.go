package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"
	"time"
	"unicode/utf8"
	"unsafe"
)

// jsonCodec writes an object with encoding/json.
type jsonCodec struct {
	unpatchable
	shadow *shadow
	single single
	pool   sync.Pool // of *jsonEncoder
}

type jsonEncoder struct {
	buf bytes.Buffer
	enc *json.Encoder
}

func newJSONCodec(s *schema) (codec, error) {
	sh, err := newShadow(s.slots(s.current), s.size, "json")
	if err != nil {
		return nil, err
	}
	c := &jsonCodec{shadow: sh, single: single{tag: "json"}}
	c.pool.New = func() any {
		e := new(jsonEncoder)
		e.enc = json.NewEncoder(&e.buf)
		e.enc.SetEscapeHTML(false)
		return e
	}
	return c, nil
}

// textual refuses what UTF-8 text cannot hold; encoding/json would replace it.
func textual(slots []slot, m memory) error {
	for i := range slots {
		s := &slots[i]
		at := s.at(m)
		switch s.kind {
		case kindString:
			if !utf8.ValidString(*(*string)(at)) {
				return notText(s, at)
			}
		case kindFloat32, kindFloat64:
			if !finite(s.kind, at) {
				return invalid("encode", errors.New("field "+s.name+" is "+format(s.kind, at)+", which JSON cannot express"), "choose another codec")
			}
		case kindTime:
			if y := (*time.Time)(at).UTC().Year(); y < 0 || y > 9999 {
				return invalid("encode", errors.New("field "+s.name+" is in a year that RFC 3339 cannot express"), "choose the codec Binary")
			}
		}
	}
	return nil
}

func (c *jsonCodec) encode(dst []byte, m memory) ([]byte, error) {
	if err := textual(c.shadow.slots, m); err != nil {
		return dst, err
	}
	e := c.pool.Get().(*jsonEncoder)
	defer c.pool.Put(e)
	e.buf.Reset()
	err := c.shadow.encode(m, e.enc.Encode)
	if err != nil {
		return dst, invalid("encode", err, "")
	}
	text := e.buf.Bytes()
	return append(dst, text[:len(text)-1]...), nil // without the line's end
}

func (c *jsonCodec) decode(data []byte, m memory) error {
	return c.shadow.read("json", data, m, json.Unmarshal)
}

func (c *jsonCodec) field(data []byte, s *slot, p unsafe.Pointer) error {
	sh, err := c.single.of(s)
	if err != nil {
		return err
	}
	return sh.read("json", data, memory{rec: p}, json.Unmarshal)
}
