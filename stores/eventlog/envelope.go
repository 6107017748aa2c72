package eventlog

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
)

// The envelope is the value that an event is stored as, one JSON object:
//
//	{"position":7,"version":2,"stream":"order-17","type":"OrderPaid","data":{"cents":1200},"time":"2026-01-02T03:04:05.6Z"}
//
// version and stream are left out where there is none. Data that is JSON text, in valid UTF-8 and without white space
// around it, stands in "data" as it is; any other bytes stand in "base64" instead; no data is neither.
// Members may come in any order and unknown ones are ignored.
type envelope struct {
	Position uint64          `json:"position"`
	Version  uint64          `json:"version"`
	Stream   string          `json:"stream"`
	Type     string          `json:"type"`
	Data     json.RawMessage `json:"data"`
	Base64   []byte          `json:"base64"`
	Time     time.Time       `json:"time"`
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
	c.events = append(c.events, Event{})
	e := &c.events[len(c.events)-1]
	if !c.decode(e, value) {
		if err := c.decodeSlowly(e, value); err != nil {
			return corrupt(fmt.Errorf("event %d: %w", position, err))
		}
	}
	if e.Position != position {
		return corrupt(fmt.Errorf("event %d says that it is %d", position, e.Position))
	}
	return nil
}

func (c *decoder) decodeSlowly(e *Event, value []byte) error {
	var v envelope
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	*e = Event{Position: v.Position, Version: v.Version, Stream: v.Stream, Type: v.Type, Time: v.Time.UTC()}
	switch {
	case len(v.Data) > 0:
		e.Data = v.Data
	case len(v.Base64) > 0:
		e.Data = v.Base64
	}
	return nil
}

// decode decodes an envelope as appendEnvelope writes it, in any order of members. False means that it is
// something else, which may still be a valid envelope.
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
	var text []byte
	if e.Data != nil && (string(name) == "data" || string(name) == "base64") {
		return -1
	}
	switch string(name) {
	case "position":
		e.Position, end = plainNumber(b, i)
		return end
	case "version":
		e.Version, end = plainNumber(b, i)
		return end
	case "data":
		if end = scanJSON(b, i, 0); end > 0 {
			e.Data = c.keep(b[i:end])
		}
		return end
	}
	if text, end = plainString(b, i); end < 0 {
		return -1
	}
	switch string(name) {
	case "type":
		e.Type = reuse(&c.typ, text)
	case "stream":
		e.Stream = reuse(&c.stream, text)
	case "base64":
		data, err := base64.StdEncoding.AppendDecode(nil, text)
		if err != nil {
			return -1
		}
		e.Data = data
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
