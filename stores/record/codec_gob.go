package record

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"math"
	"reflect"
	"sync"
	"unsafe"
)

// gobCodec writes a number as a uvarint and then what encoding/gob makes of the record.
//
// On its own (Gob) each record is a whole stream, and the number is the version of the schema: gob leaves zero values out,
// so that only the version tells them from fields that were added later. Shared, the number is that of the definitions
// in the header, and the record is what follows them in a stream. Definitions hold numbers that a process gives to types
// in the order of their use, so another process may need others.
type gobCodec struct {
	unpatchable
	shared   bool
	number   int // of the version or definitions to write
	shadow   *shadow
	versions []gobVersion // by number
	single   single
	encoders sync.Pool // of *gobEncoder, shared
}

// gobVersion is how records with one number are read.
type gobVersion struct {
	slots    []slot
	has      map[int]bool // numbers of the slots
	preamble []byte       // shared: what a decoder reads first
	decoders *sync.Map    // shared: of *sync.Pool of *gobDecoder, by reflect.Type
}

type gobEncoder struct {
	buf bytes.Buffer
	enc *gob.Encoder
}

type gobDecoder struct {
	in  bytes.Reader
	dec *gob.Decoder
}

func newGobCodec(s *schema, shared bool) (codec, error) {
	sh, err := newShadow(s.slots(s.current), s.size, "")
	if err != nil {
		return nil, err
	}
	c := &gobCodec{shared: shared, number: s.current, shadow: sh}
	if !shared {
		for v := range s.header.Versions {
			c.add(s.slots(v), nil)
		}
		return c, nil
	}
	preamble, err := gobPreamble(sh.typ)
	if err != nil {
		return nil, err
	}
	c.number = -1
	for i, g := range s.header.Gob {
		c.add(s.slots(g.Version), g.Preamble)
		if g.Version == s.current && bytes.Equal(g.Preamble, preamble) {
			c.number = i
		}
	}
	if c.number < 0 {
		c.number = len(s.header.Gob)
		s.header.Gob = append(s.header.Gob, gobDefinitions{Version: s.current, Preamble: preamble})
		c.add(s.slots(s.current), preamble)
	}
	c.encoders.New = func() any {
		e := new(gobEncoder)
		e.enc = gob.NewEncoder(&e.buf)
		if err := e.enc.EncodeValue(reflect.New(sh.typ)); err != nil {
			panic(err) // gobPreamble did the same
		}
		return e
	}
	return c, nil
}

// gobPreamble returns a stream of a type's definitions and one zero value.
func gobPreamble(t reflect.Type) ([]byte, error) {
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).EncodeValue(reflect.New(t)); err != nil {
		return nil, invalid("open collection", err, "choose another codec")
	}
	return buf.Bytes(), nil
}

func (c *gobCodec) add(slots []slot, preamble []byte) {
	v := gobVersion{slots: slots, has: map[int]bool{}, preamble: preamble, decoders: new(sync.Map)}
	for _, s := range slots {
		v.has[s.number] = true
	}
	c.versions = append(c.versions, v)
}

func (c *gobCodec) encode(dst []byte, m memory) ([]byte, error) {
	for i := range c.shadow.slots {
		s := &c.shadow.slots[i]
		if s.kind != kindFloat32 && s.kind != kindFloat64 {
			continue
		}
		at := s.at(m)
		f := loadFloat(s.kind, at)
		if f == 0 && math.Signbit(f) || s.kind == kindFloat32 && signals(at) { // what equals 0 is left out
			return dst, notExact(s, at)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(c.number))
	if !c.shared {
		out := appender{dst}
		err := c.shadow.encode(m, func(v any) error { return gob.NewEncoder(&out).Encode(v) })
		if err != nil {
			return dst, invalid("encode", err, "")
		}
		return out.b, nil
	}
	e := c.encoders.Get().(*gobEncoder)
	e.buf.Reset()
	if err := c.shadow.encode(m, e.enc.Encode); err != nil {
		return dst, invalid("encode", err, "")
	}
	dst = append(dst, e.buf.Bytes()...)
	c.encoders.Put(e)
	return dst, nil
}

// appender is a writer that appends.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// open returns how to read data, and what follows the number.
func (c *gobCodec) open(data []byte) (*gobVersion, []byte, error) {
	number, n := binary.Uvarint(data)
	if n <= 0 || number >= uint64(len(c.versions)) {
		return nil, nil, unknownVersion(number)
	}
	return &c.versions[number], data[n:], nil
}

func (c *gobCodec) decode(data []byte, m memory) error {
	v, data, err := c.open(data)
	if err != nil {
		return err
	}
	for i := range v.slots {
		if at := v.slots[i].at(m); at != nil {
			zero(v.slots[i].kind, at)
		}
	}
	return c.shadow.read("gob", data, m, v.read)
}

// zero makes the value at p zero.
func zero(k kind, p unsafe.Pointer) { reflect.NewAt(kinds[k].typ, p).Elem().SetZero() }

// read decodes data into to, a pointer to a shadow.
func (v *gobVersion) read(data []byte, to any) error {
	if v.preamble == nil {
		return gob.NewDecoder(bytes.NewReader(data)).Decode(to)
	}
	t := reflect.TypeOf(to).Elem()
	pool, ok := v.decoders.Load(t)
	if !ok {
		pool, _ = v.decoders.LoadOrStore(t, new(sync.Pool))
	}
	d, _ := pool.(*sync.Pool).Get().(*gobDecoder)
	if d == nil {
		d = new(gobDecoder)
		d.dec = gob.NewDecoder(&d.in)
		d.in.Reset(v.preamble)
		if err := d.dec.DecodeValue(reflect.New(t)); err != nil {
			return fmt.Errorf("definitions: %w", err)
		}
	}
	d.in.Reset(data)
	if err := d.dec.Decode(to); err != nil {
		return err // and d is not used again: it is somewhere within a stream
	}
	if d.in.Len() > 0 {
		return fmt.Errorf("%d bytes behind the record", d.in.Len())
	}
	pool.(*sync.Pool).Put(d)
	return nil
}

func (c *gobCodec) field(data []byte, s *slot, p unsafe.Pointer) error {
	v, data, err := c.open(data)
	if err != nil || !v.has[s.number] {
		return err
	}
	sh, err := c.single.of(s)
	if err != nil {
		return err
	}
	zero(s.kind, p)
	return sh.read("gob", data, memory{rec: p}, v.read)
}
