package record

import (
	"bytes"
	"encoding/json"
	"sync"
	"unsafe"
)

// jsonCodec writes an object with encoding/json.
type jsonCodec struct {
	written *shadow
	read    *shadow // with the fields that have pairs of their own now, which older records have
	single  single
	pool    sync.Pool // of *jsonEncoder
}

type jsonEncoder struct {
	buf bytes.Buffer
	enc *json.Encoder
}

func newJSONCodec(s *schema) *jsonCodec {
	label := func(number int) string { return s.header.field(number).label() }
	c := &jsonCodec{written: newShadow(s.slots(s.header.Versions[s.current]), s.size, label),
		single: single{label: label}}
	if c.read = c.written; len(s.header.hot(s.current)) > 0 {
		c.read = newShadow(s.slots(s.header.all(s.current)), s.size, label)
	}
	c.pool.New = func() any {
		e := new(jsonEncoder)
		e.enc = json.NewEncoder(&e.buf)
		e.enc.SetEscapeHTML(false)
		return e
	}
	return c
}

func (c *jsonCodec) encode(dst []byte, m memory) ([]byte, error) {
	for i := range c.written.slots {
		s := &c.written.slots[i]
		if err := c.fits(s, s.at(m)); err != nil {
			return dst, err
		}
	}
	e := c.pool.Get().(*jsonEncoder)
	defer c.pool.Put(e)
	e.buf.Reset()
	if err := c.written.encode(m, e.enc.Encode); err != nil {
		return dst, invalid("encode", err, "")
	}
	text := e.buf.Bytes()
	return append(dst, text[:len(text)-1]...), nil // without the line's end
}

func (c *jsonCodec) fits(s *slot, p unsafe.Pointer) error {
	if wrong := s.shape.unfit(p); wrong != nil {
		return invalid("encode", wrong.of(s.name),
			"change the value, or choose the codec Binary, which holds every value")
	}
	return nil
}

func (c *jsonCodec) decode(data []byte, m memory) error { return c.into(c.read, data, m) }

func (c *jsonCodec) into(sh *shadow, data []byte, m memory) error {
	if err := sh.decode(m, func(v any) error { return json.Unmarshal(data, v) }); err != nil {
		return corrupt("json: %w", err)
	}
	return nil
}

func (c *jsonCodec) field(data []byte, s *slot, p unsafe.Pointer) error {
	return c.into(c.single.of(s), data, memory{rec: p})
}

func (c *jsonCodec) patch([]byte, *slot, unsafe.Pointer) bool { return false }

func (c *jsonCodec) part(dst []byte, s *slot, p unsafe.Pointer) ([]byte, error) {
	if err := c.fits(s, p); err != nil {
		return dst, err
	}
	return s.shape.appendJSON(dst, p)
}

func (c *jsonCodec) readPart(data []byte, s *slot, m memory) error {
	if err := s.shape.readJSON(data, s.at(m)); err != nil {
		return corrupt("field %s: json: %w", s.name, err)
	}
	return nil
}
