package eventlog

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// The envelope is the value that an event is stored as: a head, and the data as they are. The head
// is
//
//	flags    1 byte: the sum of withStream, withID and withMeta
//	time     8 bytes, big-endian: nanoseconds since 1970
//	type     a text
//	version  a uvarint, then the stream, a text: withStream
//	id       a text: withID
//	meta     a uvarint, how many pairs, then key and value of each, texts, sorted: withMeta
//
// A text is its length, a uvarint, and its bytes. Whatever follows is the data. Up to format 2 the
// head was a line of JSON, which is known by its first byte and still read.
const (
	withStream = 1 << iota
	withID
	withMeta

	knownFlags = withStream | withID | withMeta
)

// appendEnvelope appends the envelope of a draft that happened at t to b.
func appendEnvelope(b []byte, version uint64, stream string, d *Draft, t time.Time) []byte {
	at := len(b)
	b = slices.Grow(b, 9+binary.MaxVarintLen64+len(d.Type)+len(d.Data))[:at+9]
	b[at] = 0
	binary.BigEndian.PutUint64(b[at+1:], uint64(t.UnixNano()))
	b = appendText(b, d.Type)
	if stream != "" {
		b[at] |= withStream
		b = appendText(binary.AppendUvarint(b, version), stream)
	}
	if d.ID != "" {
		b[at] |= withID
		b = appendText(b, d.ID)
	}
	if len(d.Meta) > 0 {
		b[at] |= withMeta
		b = binary.AppendUvarint(b, uint64(len(d.Meta)))
		for _, key := range slices.Sorted(maps.Keys(d.Meta)) {
			b = appendText(appendText(b, key), d.Meta[key])
		}
	}
	return append(b, d.Data...)
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// decoder decodes the envelopes of one call, whose events share memory.
type decoder struct {
	arena       []byte // what is left for data
	typ, stream string // of the event before, which the next one often shares
	events      []Event
}

// arenaSize is how much memory an event that is kept can keep alive.
const arenaSize = 32 << 10

var errCut = errors.New("the head is cut off or damaged")

// add decodes the envelope stored at a position and appends the event to c.events.
func (c *decoder) add(position uint64, value []byte) error {
	c.events = append(c.events, Event{})
	e := &c.events[len(c.events)-1]
	e.Position = position
	data, err := c.decode(e, value)
	if err == nil && e.Position != position {
		err = fmt.Errorf("it says that it is %d", e.Position)
	}
	if err != nil {
		return corrupt(fmt.Errorf("event %d: %w", position, err))
	}
	if len(data) > 0 {
		e.Data = c.keep(data)
	}
	return nil
}

// decode decodes a head into e and returns the data behind it.
func (c *decoder) decode(e *Event, value []byte) (data []byte, err error) {
	if len(value) > 0 && value[0] == '{' {
		return e.decodeLine(value)
	}
	if len(value) < 10 || value[0]&^knownFlags != 0 {
		return nil, errCut
	}
	flags := value[0]
	e.Time = time.Unix(0, int64(binary.BigEndian.Uint64(value[1:]))).UTC()
	left := cutter{value[9:]}
	e.Type = reuse(&c.typ, left.text())
	if flags&withStream != 0 {
		e.Version = left.number()
		e.Stream = reuse(&c.stream, left.text())
	}
	if flags&withID != 0 {
		e.ID = string(left.text())
	}
	if flags&withMeta != 0 {
		n := left.number()
		if n > uint64(len(left.b)) {
			return nil, errCut
		}
		e.Meta = make(map[string]string, n)
		for range n {
			key := string(left.text())
			e.Meta[key] = string(left.text())
		}
	}
	if left.b == nil {
		return nil, errCut
	}
	return left.b, nil
}

// cutter cuts the parts of a head off the front of b, which is nil after one that is not whole.
type cutter struct{ b []byte }

func (c *cutter) number() uint64 {
	n, size := binary.Uvarint(c.b)
	if size <= 0 {
		c.b = nil
		return 0
	}
	c.b = c.b[size:]
	return n
}

func (c *cutter) text() []byte {
	n := c.number()
	if n > uint64(len(c.b)) {
		c.b = nil
		return nil
	}
	text := c.b[:n]
	c.b = c.b[n:]
	return text
}

// decodeLine is decode of a head that is a line of JSON.
func (e *Event) decodeLine(value []byte) (data []byte, err error) {
	var h struct {
		Position, Version uint64
		Stream, Type      string
		Time              time.Time
	}
	head, data, ok := bytes.Cut(value, []byte{'\n'})
	if !ok {
		return nil, errCut
	}
	if err := json.Unmarshal(head, &h); err != nil {
		return nil, err
	}
	*e = Event{Position: h.Position, Version: h.Version, Stream: h.Stream, Type: h.Type, Time: h.Time.UTC()}
	return data, nil
}

// keep copies data to where it stays.
func (c *decoder) keep(data []byte) []byte {
	if len(data) > arenaSize/8 {
		return append([]byte(nil), data...)
	}
	if len(data) > len(c.arena) {
		c.arena = make([]byte, c.arenaFor(len(data)))
	}
	n := copy(c.arena, data)
	kept := c.arena[:n:n]
	c.arena = c.arena[n:]
	return kept
}

// arenaFor guesses the room that the events still expected need, if they are about as large as this
// one.
func (c *decoder) arenaFor(size int) int {
	expected := cap(c.events) - len(c.events) + 1
	return max(size, min(arenaSize, (size+8)*expected))
}

// reuse returns text as a string, which is the one before if that is equal.
func reuse(before *string, text []byte) string {
	if string(text) != *before {
		*before = string(text)
	}
	return *before
}
