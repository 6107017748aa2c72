package eventlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// The envelope is the value that an event is stored as: a head, which is one line of JSON, and the data as it is.
//
//	{"position":7,"version":2,"stream":"order-17","type":"OrderPaid","time":"2026-01-02T03:04:05.600000000Z"}
//	{"cents":1200}
//
// version and stream are left out where there is none. The head ends with a newline, and contains none; its members may
// come in any order, and unknown ones are ignored. Whatever follows is the data.
type head struct {
	Position uint64    `json:"position"`
	Version  uint64    `json:"version"`
	Stream   string    `json:"stream"`
	Type     string    `json:"type"`
	Time     time.Time `json:"time"`
}

// decoder decodes the envelopes of one call, whose events share memory.
type decoder struct {
	arena       []byte // what is left for data
	typ, stream string // of the event before, which the next one often shares
	events      []Event
}

// arenaSize is how much memory an event that is kept can keep alive.
const arenaSize = 32 << 10

// add decodes the envelope stored at a position and appends the event to c.events.
func (c *decoder) add(position uint64, value []byte) error {
	end := bytes.IndexByte(value, '\n')
	if end < 0 {
		return corrupt(fmt.Errorf("event %d: the head does not end", position))
	}
	c.events = append(c.events, Event{})
	e := &c.events[len(c.events)-1]
	if !c.decode(e, value[:end]) {
		if err := e.decodeSlowly(value[:end]); err != nil {
			return corrupt(fmt.Errorf("event %d: %w", position, err))
		}
	}
	if e.Position != position {
		return corrupt(fmt.Errorf("event %d says that it is %d", position, e.Position))
	}
	if data := value[end+1:]; len(data) > 0 {
		e.Data = c.keep(data)
	}
	return nil
}

func (e *Event) decodeSlowly(text []byte) error {
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return err
	}
	*e = Event{Position: h.Position, Version: h.Version, Stream: h.Stream, Type: h.Type, Time: h.Time.UTC()}
	return nil
}

// decode decodes a head as encoder writes it, in any order of members. False means that it is something else, which may
// still be a valid head.
func (c *decoder) decode(e *Event, b []byte) bool {
	if len(b) == 0 || b[0] != '{' {
		return false
	}
	for i := 1; i < len(b); i++ {
		name, at := plainString(b, i)
		if at < 0 || at >= len(b) || b[at] != ':' {
			return false
		}
		if i = c.member(e, name, b, at+1); i < 0 || i >= len(b) {
			return false
		}
		if b[i] == '}' {
			return i == len(b)-1
		}
		if b[i] != ',' {
			return false
		}
	}
	return false
}

// member decodes the value at b[i] and returns the index after it, or -1.
func (c *decoder) member(e *Event, name, b []byte, i int) (end int) {
	switch string(name) {
	case "position":
		e.Position, end = plainNumber(b, i)
		return end
	case "version":
		e.Version, end = plainNumber(b, i)
		return end
	}
	text, end := plainString(b, i)
	if end < 0 {
		return -1
	}
	switch string(name) {
	case "type":
		e.Type = reuse(&c.typ, text)
	case "stream":
		e.Stream = reuse(&c.stream, text)
	case "time":
		if e.Time.UnmarshalText(text) != nil {
			return -1
		}
		e.Time = e.Time.UTC()
	default:
		return -1
	}
	return end
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

// arenaFor guesses the room that the events still expected need, if they are about as large as this one.
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

// plainString returns the text of the string at b[i], which needs no decoding, and the index after it, or -1.
func plainString(b []byte, i int) (text []byte, end int) {
	if i >= len(b) || b[i] != '"' {
		return nil, -1
	}
	i++
	for end = i; end < len(b) && b[end] != '"'; end++ {
		if c := b[end]; c < ' ' || c == '\\' {
			return nil, -1
		}
	}
	if end == len(b) {
		return nil, -1
	}
	return b[i:end], end + 1
}

// plainNumber returns the number at b[i] and the index after it, or -1.
func plainNumber(b []byte, i int) (n uint64, end int) {
	for end = i; end < len(b) && b[end] >= '0' && b[end] <= '9'; end++ {
		if end-i == 18 {
			return 0, -1
		}
		n = n*10 + uint64(b[end]-'0')
	}
	if end == i || end-i > 1 && b[i] == '0' {
		return 0, -1
	}
	return n, end
}
