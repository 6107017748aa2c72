package eventlog

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// encoder writes envelopes by hand, because encoding/json would take longer than the rest of an append. It keeps the
// text of what the next event often shares with the one before. The zero encoder is ready.
type encoder struct {
	position uint64
	head     []byte // {"position":7
	stream   stringMember
	kind     stringMember
	second   int64
	nano     int
	until    int    // the length of time up to the second
	time     []byte // ,"time":"2026-01-02T03:04:05.6Z"}
}

// append appends the envelope of a draft to b.
func (c *encoder) append(b []byte, position, version uint64, stream string, d *Draft) []byte {
	c.setPosition(position)
	b = append(b, c.head...)
	if version > 0 {
		b = strconv.AppendUint(append(b, `,"version":`...), version, 10)
	}
	if stream != "" {
		b = append(b, c.stream.encode(`,"stream":`, stream)...)
	}
	b = append(b, c.kind.encode(`,"type":`, d.Type)...)
	switch {
	case len(d.Data) == 0:
	case isPlainJSON(d.Data):
		b = append(append(b, `,"data":`...), d.Data...)
	default:
		b = base64.StdEncoding.AppendEncode(append(b, `,"base64":"`...), d.Data)
		b = append(b, '"')
	}
	c.setTime(d.Time)
	return append(b, c.time...)
}

// setPosition makes c.head that of a position, which mostly follows the one before.
func (c *encoder) setPosition(position uint64) {
	follows := position == c.position+1
	c.position = position
	for i := len(c.head) - 1; follows && i >= 0 && c.head[i] != ':'; i-- {
		if c.head[i] < '9' {
			c.head[i]++
			return
		}
		c.head[i] = '0'
	}
	c.head = strconv.AppendUint(append(c.head[:0], `{"position":`...), position, 10)
}

// setTime makes c.time that of t in UTC, as time.RFC3339Nano has it.
func (c *encoder) setTime(t time.Time) {
	s, n := t.Unix(), t.Nanosecond()
	if s == c.second && n == c.nano && c.time != nil {
		return
	}
	if s != c.second || c.time == nil {
		c.time = t.UTC().AppendFormat(append(c.time[:0], `,"time":"`...), "2006-01-02T15:04:05")
		c.until = len(c.time)
	}
	c.second, c.nano = s, n
	c.time = append(appendFraction(c.time[:c.until], uint32(n)), `Z"}`...)
}

// appendFraction appends n billionths, without zeros at the end.
func appendFraction(b []byte, n uint32) []byte {
	if n == 0 {
		return b
	}
	b = append(b, ".000000000"...)
	digits := (*[10]byte)(b[len(b)-10:])
	for i := 8; i > 0; i -= 2 {
		rest := n / 100
		two := n - rest*100
		digits[i], digits[i+1] = byte('0'+two/10), byte('0'+two%10)
		n = rest
	}
	digits[1] = byte('0' + n)
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

// stringMember is the text of a member whose value is a string: ,"type":"OrderPaid"
type stringMember struct {
	text  []byte
	plain bool // the value stands in text as it is
}

// encode returns the text of the member that begins with name and has the value s, which is valid UTF-8. It holds
// until the next call.
func (m *stringMember) encode(name, s string) []byte {
	if from := len(name) + 1; m.plain && len(m.text) == from+len(s)+1 && string(m.text[from:from+len(s)]) == s {
		return m.text
	}
	m.text = append(m.text[:0], name...)
	if m.plain = isPlainString(s); m.plain {
		m.text = append(append(append(m.text, '"'), s...), '"')
		return m.text
	}
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	m.text = append(m.text, quoted...)
	return m.text
}

func isPlainString(s string) bool {
	for i := range len(s) {
		if special[s[i]] {
			return false
		}
	}
	return true
}

// isPlainJSON reports whether data is JSON text in valid UTF-8, without white space around it.
func isPlainJSON(data []byte) bool {
	return scanJSON(data, 0, 0) == len(data) && (isASCII(data) || utf8.Valid(data))
}

// isASCII is for texts of 8 bytes and more; of a shorter one it says false.
func isASCII(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	all := binary.LittleEndian.Uint64(b[len(b)-8:])
	for ; len(b) > 8; b = b[8:] {
		all |= binary.LittleEndian.Uint64(b)
	}
	return all&0x8080808080808080 == 0
}
