package eventlog

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
	"time"
)

// encoder writes envelopes by hand, because encoding/json would take longer than the rest of an append. The heads of
// successive events mostly differ in a few digits, so it keeps one made for the event expected next. The zero encoder is
// ready.
type encoder struct {
	head              []byte // of the event with these, but for the nanoseconds; empty if there is none
	position, version uint64
	stream, kind      string
	second            int64
	positionEnd       int    // where the digits of the position end in head
	versionEnd        int    // where those of the version do
	secondEnd         int    // where those of the second do
	nano              uint32 // whose digits are:
	first             byte
	rest              uint64
}

// append appends the envelope of a draft that happened at t to b. One without a valid type or time is an error.
func (c *encoder) append(b []byte, position, version uint64, stream string, d *Draft, t time.Time) ([]byte, error) {
	second := t.Unix()
	if position != c.position || version != c.version || second != c.second || d.Type != c.kind || stream != c.stream || len(c.head) == 0 ||
		second < firstSecond || second > lastSecond { // where one time is in range and the next is not
		if err := c.begin(position, version, stream, d.Type, t); err != nil {
			return nil, err
		}
	}
	if nano := uint32(t.Nanosecond()); nano != c.nano {
		c.nano = nano
		c.first, c.rest = nineDigits(nano)
	}
	n := len(b) + c.secondEnd + 1
	b = append(b, c.head...)
	b[n] = c.first
	binary.LittleEndian.PutUint64(b[n+1:], c.rest)
	c.next()
	return append(b, d.Data...), nil
}

// next makes the head that of the next event, if it has as many digits.
func (c *encoder) next() {
	if c.version > 0 {
		c.version++
		if !increment(c.head[:c.versionEnd]) {
			c.head = c.head[:0]
			return
		}
	}
	c.position++
	if !increment(c.head[:c.positionEnd]) {
		c.head = c.head[:0]
	}
}

// increment adds one to the number at the end of b; false if it has too few digits for that.
func increment(b []byte) bool {
	for i := len(b) - 1; b[i] != ':'; i-- {
		if b[i] < '9' {
			b[i]++
			return true
		}
		b[i] = '0'
	}
	return false
}

// begin writes a head from nothing.
func (c *encoder) begin(position, version uint64, stream, kind string, t time.Time) error {
	c.head = c.head[:0]
	if err := checkEvent(kind, t); err != nil {
		return err
	}
	c.position, c.version, c.stream, c.kind = position, version, stream, kind
	c.second, c.nano = t.Unix(), uint32(t.Nanosecond())
	c.first, c.rest = nineDigits(c.nano)
	h := strconv.AppendUint(append(c.head, `{"position":`...), position, 10)
	c.positionEnd = len(h)
	if version > 0 {
		h = strconv.AppendUint(append(h, `,"version":`...), version, 10)
	}
	c.versionEnd = len(h)
	if stream != "" {
		h = appendString(append(h, `,"stream":`...), stream)
	}
	h = appendString(append(h, `,"type":`...), kind)
	h = t.UTC().AppendFormat(append(h, `,"time":"`...), "2006-01-02T15:04:05")
	c.secondEnd = len(h)
	c.head = append(h, ".000000000Z\"}\n"...)
	return nil
}

// nineDigits returns the digits of n, which is below 10⁹: the first one, and the others as they lie in memory,
// little-endian. Those are parted by halves, all halves at once: numbers of 4 digits lie in the two parts of x, of 2 in
// the four parts of y, of 1 in the eight bytes of z.
func nineDigits(n uint32) (first byte, rest uint64) {
	high := n / 100_000_000
	n -= high * 100_000_000
	x := uint64(n/10_000) | uint64(n%10_000)<<32
	hundreds := x * 10_486 >> 20 & 0x7f_0000_007f
	y := hundreds | (x-hundreds*100)<<16
	tens := y * 103 >> 10 & 0x000f_000f_000f_000f
	z := tens | (y-tens*10)<<8
	return byte('0' + high), z | 0x3030_3030_3030_3030
}

// appendString appends the JSON text of s, which is valid UTF-8.
func appendString(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return append(b, quoted...)
}
