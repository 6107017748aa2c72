package record

import (
	"fmt"
	"slices"
	"unsafe"
)

// plan is how records of a type become rows and back, found once for the type and the header.
type plan struct {
	*schema
	codec   codec  // nil if rows have a column for each field
	columns []slot // by field: all fields that there ever were, by number
	written []int  // by field: indexes of the columns that the type has
	stale   []int  // by field: indexes of the columns that are removed when a record is written
	indexes []index
	zeroID  bool // 0 and "" are ids like others
}

func newPlan(s *schema, o *Options, byField bool) (*plan, error) {
	p := &plan{schema: s, zeroID: o.ZeroID}
	if !byField {
		var err error
		p.codec, err = newCodec(o.Codec, s)
		return p, err
	}
	for _, f := range s.header.Fields {
		slot := s.place[f.Number]
		switch slot.base {
		case inRecord:
			p.written = append(p.written, len(p.columns))
		case nowhere:
			p.stale = append(p.stale, len(p.columns))
		}
		p.columns = append(p.columns, slot)
	}
	return p, nil
}

// width is how many columns a row has.
func (p *plan) width() int { return max(1, len(p.columns)) }

// encode sets row to the columns of m in memory after dst, which it returns.
func (p *plan) encode(dst []byte, row [][]byte, m memory) ([]byte, error) {
	if p.codec != nil {
		dst, err := p.codec.encode(dst[:0], m)
		row[0] = dst
		return dst, err
	}
	dst = slices.Grow(dst[:0], 256)
	clear(row)
	for _, i := range p.written {
		s := &p.columns[i]
		start := len(dst)
		dst = appendValue(dst, s.kind, s.at(m))
		row[i] = dst[start:len(dst):len(dst)] // if dst moves, its old memory stays as it is
	}
	return dst, nil
}

// decode sets the fields that row has.
func (p *plan) decode(row [][]byte, m memory) error {
	if p.codec != nil {
		return p.codec.decode(row[0], m)
	}
	for i, value := range row {
		s := &p.columns[i]
		at := s.at(m)
		if value == nil || at == nil {
			continue
		}
		if err := storeValue(s.kind, at, value); err != nil {
			return corrupt("field %s: %w", s.name, err)
		}
	}
	return nil
}

// field sets the memory at to to one field of a value that was read as that column.
func (p *plan) field(value []byte, s *slot, to unsafe.Pointer) error {
	if p.codec != nil {
		return p.codec.field(value, s, to)
	}
	if value == nil {
		return nil
	}
	if err := storeValue(s.kind, to, value); err != nil {
		return corrupt("field %s: %w", s.name, err)
	}
	return nil
}

// column returns the index of the column that holds a field.
func (p *plan) column(s *slot) int {
	if p.codec != nil {
		return 0
	}
	return slices.IndexFunc(p.columns, func(c slot) bool { return c.number == s.number })
}

// carries reports whether writing a record needs what is stored of it.
func (p *plan) carries() bool { return p.codec != nil && p.extra != nil || len(p.indexes) > 0 }

// appendID appends the key of the id in m.
func (p *plan) appendID(key []byte, m memory) []byte { return p.idOf(m).AppendKey(key) }

// idOf returns the id in m.
func (p *plan) idOf(m memory) ID {
	at := unsafe.Add(m.rec, p.id.offset)
	switch k := p.id.kind; {
	case k.signed():
		return Int(loadInt(k, at))
	case k.unsigned():
		return Uint(loadUint(k, at))
	}
	return Text(*(*string)(at))
}

// forgotten reports whether the id in m is one that nobody gave.
func (p *plan) forgotten(m memory) bool {
	if p.zeroID {
		return false
	}
	id := p.idOf(m)
	return id.n == 0 && id.text == ""
}

// checkID refuses an id that was forgotten.
func (p *plan) checkID(m memory) error {
	if !p.forgotten(m) {
		return nil
	}
	return invalid("put", fmt.Errorf("field %s, the id, is not set", p.id.name),
		"set it; Insert chooses a number; Options.ZeroID makes 0 and the empty string ids like others")
}

// forget makes the id in m 0, if it is a number.
func (p *plan) forget(m memory) {
	if p.idKind() != textID {
		zero(p.id.kind, unsafe.Add(m.rec, p.id.offset))
	}
}

// idKind returns the kind of the collection's ids.
func (p *plan) idKind() idKind { return idKindOf(p.id.kind) }
