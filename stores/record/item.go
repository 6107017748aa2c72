package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// Item is a field of a record as it is stored.
type Item struct {
	Name  string
	Value json.RawMessage // bytes are base64; what JSON cannot express is a text
}

// Dump gives fn the fields of each record of the collection called name in s, in the order of the
// ids or against it, whatever type they were written with: for who looks at a store. Fields that
// the collection's type no longer has are left out. A collection that is not there is NotFound.
func Dump(s *kv.Snapshot, name string, reverse bool, fn func([]Item) error) error {
	if name != "" {
		s = s.Namespace(kv.AppendString([]byte{'c'}, name))
	}
	text, err := s.Get(headerKey)
	if err != nil {
		return err
	}
	h, err := parseHeader(text)
	if err != nil {
		return err
	}
	used := slices.Index(codecNames[:], h.Codec)
	if used < 0 {
		return corrupt("header: codec %s", h.Codec)
	}
	d := dump{newSchema(reflect.TypeFor[struct{}](), nil, h)} // so that every field is one that the type lacks
	p, err := newPlan(d.schema, &Options{Codec: Codec(used)})
	if err != nil {
		return err
	}
	r := (&Collection[struct{}]{plan: p}).reader(s)
	scan := r.scan(kv.Range{Reverse: reverse}, func([]byte) bool {
		var none struct{}
		m := memory{rec: unsafe.Pointer(&none), extra: d.newExtra()}
		if err = r.decode(&none, m.extra); err == nil {
			err = fn(d.items(m))
		}
		return err == nil
	})
	return errors.Join(err, scan)
}

// dump is one Dump.
type dump struct{ *schema }

// items returns the fields of the record in m.
func (d dump) items(m memory) (all []Item) {
	for _, number := range d.header.all(d.current) {
		s := d.place[number]
		at := s.at(m)
		text, err := s.shape.appendJSON(nil, at)
		if err != nil { // NaN, or a year of five digits
			text, _ = json.Marshal(fmt.Sprint(s.shape.value(at)))
		}
		all = append(all, Item{Name: s.name, Value: text})
	}
	return all
}
