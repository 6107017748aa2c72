package record

import (
	"encoding/binary"
	"slices"
	"time"
	"unsafe"
)

// binaryCodec writes: the version of the schema as a uvarint (one byte below 128 versions), the
// fields of fixed size by number, little-endian and without padding, then the strings, after them
// the bytes, and after them what is made of others, each behind its length as a uvarint. The place
// of a fixed field is the same in every record of a version, so that it can be read and changed
// alone.
type binaryCodec struct {
	current int
	plans   []binaryPlan // by version
}

// binaryPlan is what to do for one version, found once.
type binaryPlan struct {
	fixed   []fixedSlot
	size    int    // of all fixed fields
	texts   []slot // strings, then bytes, then what is made of others
	strings int    // how many of texts are strings
	last    int    // of the highest number
	where   []int  // by number: index in fixed, or in texts counted from len(fixed), plus 1
}

type fixedSlot struct {
	spot
	number int
	name   string
	place  int // from the start of the fixed fields
}

func newBinaryCodec(s *schema) *binaryCodec {
	c := &binaryCodec{current: s.current}
	for version := range s.header.Versions {
		c.plans = append(c.plans, newBinaryPlan(s.slots(s.header.Versions[version])))
	}
	return c
}

func newBinaryPlan(slots []slot) (p binaryPlan) {
	var blobs, parts []slot
	for _, s := range slots {
		p.last = max(p.last, s.number)
		switch size := s.kind.size(); {
		case size > 0:
			p.fixed = append(p.fixed, fixedSlot{spot: s.spot, number: s.number, name: s.name, place: p.size})
			p.size += size
		case s.kind == kindString:
			p.texts = append(p.texts, s)
		case s.kind == kindBytes:
			blobs = append(blobs, s)
		default:
			parts = append(parts, s)
		}
	}
	p.strings = len(p.texts)
	p.texts = slices.Concat(p.texts, blobs, parts)
	p.where = make([]int, p.last+1)
	for i := range p.fixed {
		p.where[p.fixed[i].number] = i + 1
	}
	for i := range p.texts {
		p.where[p.texts[i].number] = len(p.fixed) + i + 1
	}
	return p
}

func (c *binaryCodec) encode(dst []byte, m memory) ([]byte, error) {
	p := &c.plans[c.current]
	dst = binary.AppendUvarint(dst, uint64(c.current))
	n := len(dst)
	if cap(dst)-n < p.size {
		dst = append(dst, make([]byte, p.size)...)
	} else {
		dst = dst[:n+p.size]
	}
	out := dst[n:]
	for i := range p.fixed {
		f := &p.fixed[i]
		at := f.at(m)
		switch to := out[f.place:]; f.kind {
		case kindBool, kindInt8, kindUint8:
			to[0] = *(*byte)(at)
		case kindInt16, kindUint16:
			binary.LittleEndian.PutUint16(to, *(*uint16)(at))
		case kindInt32, kindUint32, kindFloat32:
			binary.LittleEndian.PutUint32(to, *(*uint32)(at))
		case kindInt64, kindUint64, kindFloat64:
			binary.LittleEndian.PutUint64(to, *(*uint64)(at))
		case kindInt:
			binary.LittleEndian.PutUint64(to, uint64(*(*int)(at)))
		case kindUint:
			binary.LittleEndian.PutUint64(to, uint64(*(*uint)(at)))
		case kindTime:
			t := (*time.Time)(at)
			binary.LittleEndian.PutUint64(to, uint64(t.Unix()))
			binary.LittleEndian.PutUint32(to[8:], uint32(t.Nanosecond()))
		}
	}
	for i := range p.texts[:p.strings] {
		s := *(*string)(p.texts[i].at(m))
		dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
	}
	if p.strings < len(p.texts) {
		dst = p.encodeOthers(dst, m)
	}
	return dst, nil
}

// encodeOthers appends bytes and what is made of others.
func (p *binaryPlan) encodeOthers(dst []byte, m memory) []byte {
	for i := range p.texts[p.strings:] {
		s := &p.texts[p.strings+i]
		if s.kind == kindBytes {
			b := *(*[]byte)(s.at(m))
			dst = append(appendLength(dst, len(b), b == nil), b...)
		} else {
			dst = appendSized(dst, s.shape, s.at(m))
		}
	}
	return dst
}

// appendSized appends a value behind its length.
func appendSized(dst []byte, s *shape, p unsafe.Pointer) []byte {
	start := len(dst)
	dst = s.append(append(dst, 0), p)
	n := len(dst) - start - 1
	if n < 0x80 {
		dst[start] = byte(n)
		return dst
	}
	var length [binary.MaxVarintLen64]byte
	return slices.Replace(dst, start, start+1, length[:binary.PutUvarint(length[:], uint64(n))]...)
}

func (c *binaryCodec) part(dst []byte, s *slot, p unsafe.Pointer) ([]byte, error) {
	return s.shape.append(dst, p), nil
}

func (c *binaryCodec) readPart(data []byte, s *slot, m memory) error { return s.read(data, m) }

// open returns the plan of data and what follows the version.
func (c *binaryCodec) open(data []byte) (*binaryPlan, []byte, error) {
	version, n := binary.Uvarint(data)
	if n <= 0 || version >= uint64(len(c.plans)) {
		return nil, nil, unknownVersion(version)
	}
	p := &c.plans[version]
	if len(data)-n < p.size {
		return nil, nil, corrupt("%d bytes, of which %d are of fixed size", len(data), p.size)
	}
	return p, data[n:], nil
}

// unknownVersion is the error of a record of a version that the header did not have when the
// collection was opened.
func unknownVersion(version uint64) error {
	return corrupt("version %d of the type is unknown", version)
}

// decode makes one string of all strings of the record, which share it.
func (c *binaryCodec) decode(data []byte, m memory) error {
	p, data, err := c.open(data)
	if err != nil {
		return err
	}
	if err := p.decodeFixed(data, m); err != nil {
		return err
	}
	return p.decodeTexts(data[p.size:], m)
}

func (p *binaryPlan) decodeFixed(data []byte, m memory) error {
	for i := range p.fixed {
		f := &p.fixed[i]
		at := f.at(m)
		if at == nil {
			continue
		}
		switch from := data[f.place:]; f.kind {
		case kindInt64, kindUint64, kindFloat64:
			*(*uint64)(at) = binary.LittleEndian.Uint64(from)
		case kindInt32, kindUint32, kindFloat32:
			*(*uint32)(at) = binary.LittleEndian.Uint32(from)
		default:
			if err := storeValue(f.kind, at, from[:f.kind.size()]); err != nil {
				return corrupt("field %s: %w", f.name, err)
			}
		}
	}
	return nil
}

func (p *binaryPlan) decodeTexts(data []byte, m memory) error {
	end, err := p.skip(data, p.strings)
	if err != nil {
		return err
	}
	if p.strings > 0 {
		text, at := string(data[:end]), 0
		for i := range p.texts[:p.strings] {
			n, width := uvarint(data[at:]) // skip has checked it
			at += width
			if to := p.texts[i].at(m); to != nil {
				*(*string)(to) = text[at : at+n]
			}
			at += n
		}
	}
	if p.strings < len(p.texts) {
		if end, err = p.decodeOthers(data, end, m); err != nil {
			return err
		}
	}
	if end != len(data) {
		return corrupt("%d bytes behind the record", len(data)-end)
	}
	return nil
}

// decodeOthers reads bytes and what is made of others, and returns where they end.
func (p *binaryPlan) decodeOthers(data []byte, end int, m memory) (int, error) {
	for i := range p.texts[p.strings:] {
		s := &p.texts[p.strings+i]
		b, width, err := cutBytes(data[end:])
		if err != nil {
			return 0, err
		}
		end += width
		switch to := s.at(m); {
		case to == nil:
		case s.kind == kindBytes:
			storeNilable(to, b, width)
		default:
			if err := s.read(b, m); err != nil {
				return 0, err
			}
		}
	}
	return end, nil
}

// storeNilable sets the bytes at p to b, which took width bytes with its length: one alone is nil.
func storeNilable(p unsafe.Pointer, b []byte, width int) {
	if width == 1 {
		*(*[]byte)(p) = nil
		return
	}
	storeBytes(p, b)
}

// skip returns where the first n texts of data end.
func (p *binaryPlan) skip(data []byte, n int) (end int, err error) {
	for range n {
		if end < len(data) && data[end] < 0x80 && int(data[end]) < len(data)-end {
			end += 1 + int(data[end])
			continue
		}
		_, width, err := cutBytes(data[end:])
		if err != nil {
			return 0, err
		}
		end += width
	}
	return end, nil
}

// uvarint is binary.Uvarint for a length that is known to be there.
func uvarint(data []byte) (n, width int) {
	if data[0] < 0x80 {
		return int(data[0]), 1
	}
	long, width := binary.Uvarint(data)
	return int(long), width
}

// cutBytes returns the bytes at the start of data, behind their length, and how much both take.
func cutBytes(data []byte) (b []byte, width int, err error) {
	n, w := binary.Uvarint(data)
	if w <= 0 || n > uint64(len(data)-w) {
		return nil, 0, corrupt("a length runs over the end of the record")
	}
	return data[w : w+int(n)], w + int(n), nil
}

func (c *binaryCodec) field(data []byte, s *slot, to unsafe.Pointer) error {
	p, data, err := c.open(data)
	if err != nil || s.number > p.last || p.where[s.number] == 0 {
		return err
	}
	i := p.where[s.number] - 1
	if i < len(p.fixed) {
		place := p.fixed[i].place
		if err := storeValue(s.kind, to, data[place:place+s.kind.size()]); err != nil {
			return corrupt("field %s: %w", s.name, err)
		}
		return nil
	}
	start, err := p.skip(data[p.size:], i-len(p.fixed))
	if err != nil {
		return err
	}
	b, width, err := cutBytes(data[p.size+start:])
	switch {
	case err != nil:
		return err
	case s.kind == kindString:
		*(*string)(to) = string(b)
		return nil
	case s.kind == kindBytes:
		storeNilable(to, b, width)
		return nil
	}
	if err := s.shape.read(b, to); err != nil {
		return corrupt("field %s: %w", s.name, err)
	}
	return nil
}

// patch overwrites a fixed field.
func (c *binaryCodec) patch(data []byte, s *slot, from unsafe.Pointer) bool {
	p, rest, err := c.open(data)
	if err != nil || s.number > p.last {
		return false
	}
	i := p.where[s.number] - 1
	if i < 0 || i >= len(p.fixed) {
		return false
	}
	place := p.fixed[i].place
	appendValue(rest[place:place], s.kind, from)
	return true
}
