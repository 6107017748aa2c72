package encodings

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// balanceOnly is what is decoded of a user for the sum.
type balanceOnly struct {
	Balance float64 `json:"balance"`
}

// marshaler is a codec of a library that reads and writes structs.
type marshaler struct {
	encoder   func() *streamEncoder // of a pool
	free      *sync.Pool
	newline   int // bytes behind each value that are not part of it
	unmarshal func(data []byte, to any) error
}

type streamEncoder struct {
	buf    bytes.Buffer
	encode func(v any) error
}

func newMarshaler(open func(e *streamEncoder), newline int, unmarshal func([]byte, any) error) codec {
	pool := &sync.Pool{New: func() any {
		e := new(streamEncoder)
		open(e)
		return e
	}}
	return &marshaler{encoder: func() *streamEncoder { return pool.Get().(*streamEncoder) }, free: pool,
		newline: newline, unmarshal: unmarshal}
}

// newJSON returns the codec of encoding/json.
func newJSON() codec {
	return newMarshaler(func(e *streamEncoder) {
		enc := json.NewEncoder(&e.buf)
		enc.SetEscapeHTML(false)
		e.encode = enc.Encode
	}, 1, json.Unmarshal)
}

// newCBOR returns the codec of fxamacker/cbor, the one kept and fuzzed CBOR library for Go. It
// takes the names for JSON.
func newCBOR() codec {
	return newMarshaler(func(e *streamEncoder) {
		e.encode = func(v any) error { return cbor.MarshalToBuffer(v, &e.buf) }
	}, 0, cbor.Unmarshal)
}

func (c *marshaler) encode(dst []byte, u *User) ([]byte, error) {
	e := c.encoder()
	defer c.free.Put(e)
	e.buf.Reset()
	if err := e.encode(u); err != nil {
		return dst, err
	}
	b := e.buf.Bytes()
	return append(dst, b[:len(b)-c.newline]...), nil
}

func (c *marshaler) decode(data []byte, u *User) error {
	*u = User{}
	return damaged(c.unmarshal(data, u))
}

func (c *marshaler) balance(data []byte) (float64, error) {
	var b balanceOnly
	err := c.unmarshal(data, &b)
	return b.Balance, damaged(err)
}

func damaged(err error) error {
	if err != nil {
		return corrupt("%w", err)
	}
	return nil
}

// gobCodec writes a stream of its own for each user, the type's definition included.
type gobCodec struct{}

// appender is a writer that appends.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

func (gobCodec) encode(dst []byte, u *User) ([]byte, error) {
	out := appender{dst}
	err := gob.NewEncoder(&out).Encode(u)
	return out.b, err
}

func (gobCodec) decode(data []byte, u *User) error {
	*u = User{}
	return damaged(gob.NewDecoder(bytes.NewReader(data)).Decode(u))
}

func (gobCodec) balance(data []byte) (float64, error) {
	var b balanceOnly
	err := gob.NewDecoder(bytes.NewReader(data)).Decode(&b)
	return b.Balance, damaged(err)
}

// sharedGob writes what follows the type's definition in a stream. The definition is kept in
// memory: a process of another program could not read the users, which a store of records would
// have to care for.
type sharedGob struct {
	preamble []byte // a stream of the definition and one zero user
	encoders sync.Pool
	decoders [2]sync.Pool // of users, and of balances alone
}

type gobDecoder struct {
	in  bytes.Reader
	dec *gob.Decoder
}

func newSharedGob() codec {
	c := new(sharedGob)
	c.encoders.New = func() any {
		e := new(streamEncoder)
		e.encode = gob.NewEncoder(&e.buf).Encode
		if err := e.encode(new(User)); err != nil {
			panic(err) // the type is this package's
		}
		return e
	}
	e := c.encoders.New().(*streamEncoder)
	c.preamble = bytes.Clone(e.buf.Bytes())
	return c
}

func (c *sharedGob) encode(dst []byte, u *User) ([]byte, error) {
	e := c.encoders.Get().(*streamEncoder)
	e.buf.Reset()
	if err := e.encode(u); err != nil {
		return dst, err
	}
	dst = append(dst, e.buf.Bytes()...)
	c.encoders.Put(e)
	return dst, nil
}

// read decodes data into to, with a decoder that has read the definition into zero.
func (c *sharedGob) read(pool *sync.Pool, data []byte, zero, to any) error {
	d, _ := pool.Get().(*gobDecoder)
	if d == nil {
		d = new(gobDecoder)
		d.in.Reset(c.preamble)
		d.dec = gob.NewDecoder(&d.in)
		if err := d.dec.Decode(zero); err != nil {
			return damaged(err)
		}
	}
	d.in.Reset(data)
	if err := d.dec.Decode(to); err != nil {
		return damaged(err) // d is somewhere within a stream, and not used again
	}
	pool.Put(d)
	return nil
}

func (c *sharedGob) decode(data []byte, u *User) error {
	*u = User{}
	return c.read(&c.decoders[0], data, new(User), u)
}

func (c *sharedGob) balance(data []byte) (float64, error) {
	var b balanceOnly
	err := c.read(&c.decoders[1], data, new(balanceOnly), &b)
	return b.Balance, err
}
