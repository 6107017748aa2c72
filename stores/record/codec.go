package record

import (
	"fmt"
	"strings"
	"unsafe"
)

// Codec is how the fields of a record become bytes. The zero value is the smallest and the fastest.
type Codec uint8

// The codecs. Those with names can be read by a person with the bytes at hand; the others need the collection's header.
const (
	Binary      Codec = iota // little-endian, strings behind their lengths, no names
	BinaryNames              // Binary with each field's name before its value
	JSON                     // an object; encoding/json
	Gob                      // a stream of its own for each record, type definition included; encoding/gob
	GobShared                // Gob with the type definition kept once, in the header
	MessagePack              // a map with names; the runtime of github.com/tinylib/msgp
	CBOR                     // a map with names; github.com/fxamacker/cbor
	Protobuf                 // a message with numbers; google.golang.org/protobuf/encoding/protowire
)

var codecNames = [...]string{"binary", "names", "json", "gob", "gob-shared", "msgpack", "cbor", "protobuf"}

// Codecs returns all codecs.
func Codecs() []Codec {
	all := make([]Codec, len(codecNames))
	for i := range all {
		all[i] = Codec(i)
	}
	return all
}

// String returns the codec's name: "binary", "names", "json", "gob", "gob-shared", "msgpack", "cbor" or "protobuf".
func (c Codec) String() string {
	if int(c) < len(codecNames) {
		return codecNames[c]
	}
	return fmt.Sprintf("Codec(%d)", uint8(c))
}

// ParseCodec returns the codec called name. Any other name is Invalid.
func ParseCodec(name string) (Codec, error) {
	for i, n := range codecNames {
		if n == name {
			return Codec(i), nil
		}
	}
	return 0, invalid("parse codec", fmt.Errorf("unknown codec %q", name), "use one of "+strings.Join(codecNames[:], ", "))
}

// codec encodes and decodes whole records by slots that were found once.
type codec interface {
	// encode appends the fields in m to dst.
	encode(dst []byte, m memory) ([]byte, error)

	// decode sets the fields that data has, and leaves the others as they are. It keeps nothing of data.
	decode(data []byte, m memory) error

	// field sets the memory at p, of the slot's kind, to the field with a slot's number, decoding as little as it can.
	// If data has no such field p stays as it is.
	field(data []byte, s *slot, p unsafe.Pointer) error

	// patch overwrites the field with a slot's number in data by the memory at p, if it can be done in place.
	patch(data []byte, s *slot, p unsafe.Pointer) bool
}

// memory is where the fields of one record are: in the program's struct, or in one that holds those stored fields that
// the program's type lacks. extra may be nil: such fields are then left out when decoding.
type memory struct{ rec, extra unsafe.Pointer }

// slot is one field: what it is and where it lies.
type slot struct {
	number int
	name   string
	kind   kind
	base   base
	offset uintptr
}

// base says which struct of a memory holds a slot.
type base uint8

const (
	inRecord base = iota
	inExtra
	nowhere // the field is passed over
)

// at returns where the slot's value is, or nil.
func (s *slot) at(m memory) unsafe.Pointer {
	switch s.base {
	case inRecord:
		return unsafe.Add(m.rec, s.offset)
	case inExtra:
		if m.extra != nil {
			return unsafe.Add(m.extra, s.offset)
		}
	}
	return nil
}

// unpatchable is for codecs that cannot change a value in place.
type unpatchable struct{}

func (unpatchable) patch([]byte, *slot, unsafe.Pointer) bool { return false }

// newCodec returns the codec for a schema.
func newCodec(c Codec, s *schema) (codec, error) {
	switch c {
	case Binary:
		return newBinaryCodec(s), nil
	case BinaryNames:
		return &namesCodec{slots: s.slots(s.current), byName: s.byName()}, nil
	case MessagePack:
		return &messagePackCodec{slots: s.slots(s.current), byName: s.byName()}, nil
	case Protobuf:
		return newProtobufCodec(s), nil
	case JSON:
		return newJSONCodec(s)
	case CBOR:
		return newCBORCodec(s)
	case Gob, GobShared:
		return newGobCodec(s, c == GobShared)
	}
	return nil, invalid("open collection", fmt.Errorf("codec %v", c), "use one of "+strings.Join(codecNames[:], ", "))
}
