package record

import (
	"fmt"
	"slices"
	"unsafe"
)

// plan is how records of a type become pairs and back, found once for the type and the header.
type plan struct {
	*schema
	codec   codec
	hot     []hotField
	indexes []index
	zeroID  bool // 0 and "" are ids like others
}

func newPlan(s *schema, o *Options) (*plan, error) {
	p := &plan{schema: s, zeroID: o.ZeroID}
	for _, f := range s.header.Fields {
		if s.header.everHot(f.Number) {
			p.hot = append(p.hot, newHotField(s.place[f.Number], slices.Contains(s.header.hot(s.current), f.Number)))
		}
	}
	var err error
	p.codec, err = newCodec(o.Codec, s)
	return p, err
}

// hotIndex returns where a field is in hot, or -1.
func (p *plan) hotIndex(s *slot) int {
	return slices.IndexFunc(p.hot, func(h hotField) bool { return h.number == s.number })
}

// carries reports whether writing a record needs what is stored of it.
func (p *plan) carries() bool { return p.extra != nil || len(p.indexes) > 0 }

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
	at := unsafe.Add(m.rec, p.id.offset)
	switch k := p.id.kind; {
	case k.signed():
		_ = storeInt(k, at, 0)
	case k.unsigned():
		_ = storeUint(k, at, 0)
	}
}

// idKind returns the kind of the collection's ids.
func (p *plan) idKind() idKind { return idKindOf(p.id.kind) }
