package record

import (
	"fmt"
	"strings"
	"unsafe"
)

// Codec is how the fields of a record become bytes. The zero value is the smallest and the fastest.
type Codec uint8

// The codecs.
const (
	Binary Codec = iota // little-endian, without names: the header of the collection has them
	JSON                // an object that other programs can read; encoding/json
)

var codecNames = [...]string{"binary", "json"}

// String returns the codec's name: "binary" or "json".
func (c Codec) String() string {
	if int(c) < len(codecNames) {
		return codecNames[c]
	}
	return fmt.Sprintf("Codec(%d)", uint8(c))
}

// codec encodes and decodes whole records by slots that were found once.
type codec interface {
	// encode appends the fields in m to dst.
	encode(dst []byte, m memory) ([]byte, error)

	// decode sets the fields that data has, and leaves the others as they are. It keeps nothing of
	// data.
	decode(data []byte, m memory) error

	// field sets the memory at p, of the slot's type, to the field with a slot's number, decoding
	// as little as it can. If data has no such field p stays as it is.
	field(data []byte, s *slot, p unsafe.Pointer) error

	// patch overwrites the field with a slot's number in data by the memory at p, if it can be done
	// in place.
	patch(data []byte, s *slot, p unsafe.Pointer) bool

	// part appends the value at p of a field that has a pair of its own, and readPart sets the slot
	// of m to it.
	part(dst []byte, s *slot, p unsafe.Pointer) ([]byte, error)
	readPart(data []byte, s *slot, m memory) error
}

// newCodec returns the codec for a schema.
func newCodec(c Codec, s *schema) (codec, error) {
	switch c {
	case Binary:
		return newBinaryCodec(s), nil
	case JSON:
		return newJSONCodec(s), nil
	}
	return nil, invalid("open collection", fmt.Errorf("codec %v", c), "use one of "+strings.Join(codecNames[:], ", "))
}
