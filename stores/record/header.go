package record

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"

	"github.com/assaydb/assay/kv"
)

// headerFormat is the version of the way in which collections are stored. Format 1 is that of the
// first releases, from which collections of one pair for each record, made by Binary or JSON, are
// taken over.
const headerFormat = 2

// header describes a collection. It is stored beside the records, as JSON.
type header struct {
	Format      int           `json:"format"`
	Codec       string        `json:"codec"`
	Layout      string        `json:"layout,omitempty"`  // of format 1
	ID          string        `json:"id"`                // name of the field with the id
	Fingerprint string        `json:"fingerprint"`       // of codec, layout and the fields of the current version
	Fields      []headerField `json:"fields"`            // all that there ever were; numbers are not used twice
	Versions    [][]int       `json:"versions"`          // numbers of the fields in the pair of a record, ascending, by version
	Hot         [][]int       `json:"hot,omitempty"`     // numbers of those with pairs of their own; of the first versions, none are left out
	Current     int           `json:"current"`           // the version that is written
	Indexes     []headerIndex `json:"indexes,omitempty"` // their numbers are not used twice while they have entries
}

type headerField struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	Label  string `json:"label,omitempty"` // its name in JSON, if that is another: its first one
	form

	// Default is what records have that were written without the field, as shape.append makes it.
	// It is set when the field is added and stays, because entries of indexes are made of it. Nil
	// is none: no record lacks the field.
	Default []byte `json:"default,omitzero"`
}

// label returns the field's name in JSON.
func (f *headerField) label() string { return cmp.Or(f.Label, f.Name) }

type headerIndex struct {
	Number   int      `json:"number"`
	Name     string   `json:"name"`
	Fields   []string `json:"fields"`
	Unique   bool     `json:"unique,omitempty"`
	Building bool     `json:"building,omitempty"` // not all records are in it yet
	Builder  string   `json:"builder,omitempty"`  // who builds it: whoever begins changes it, and stops the others
}

// newHeader returns the header of a new collection.
func newHeader(fields []typeField, codec Codec) *header {
	h := &header{Format: headerFormat, Codec: codec.String()}
	var version, hot []int
	for i, f := range fields {
		h.Fields = append(h.Fields, headerField{Number: i + 1, Name: f.name, form: f.form})
		if f.hot {
			hot = append(hot, i+1)
		} else {
			version = append(version, i+1)
		}
		if f.id {
			h.ID = f.name
		}
	}
	h.use(version, hot)
	return h
}

// use makes the version with these fields the current one. It does not change versions that are
// there.
func (h *header) use(fields, hot []int) {
	slices.Sort(fields)
	slices.Sort(hot)
	for i, version := range h.Versions {
		if slices.Equal(version, fields) && slices.Equal(h.hot(i), hot) {
			h.Current = i
			return
		}
	}
	if h.Current = len(h.Versions); len(hot) > 0 || len(h.Hot) > 0 {
		for len(h.Hot) < h.Current {
			h.Hot = append(h.Hot, []int{})
		}
		h.Hot = append(h.Hot, append([]int{}, hot...))
	}
	h.Versions = append(h.Versions, append([]int{}, fields...))
}

// hot returns the numbers of the fields with pairs of their own in a version.
func (h *header) hot(version int) []int {
	if version < len(h.Hot) {
		return h.Hot[version]
	}
	return nil
}

// all returns the numbers of all fields of a version.
func (h *header) all(version int) []int { return slices.Concat(h.Versions[version], h.hot(version)) }

// everHot reports whether records may have a pair for a field.
func (h *header) everHot(number int) bool {
	return slices.ContainsFunc(h.Hot, func(v []int) bool { return slices.Contains(v, number) })
}

// onlyHot reports whether every record has a pair for a field.
func (h *header) onlyHot(number int) bool {
	return h.field(number).Default == nil && len(h.Hot) == len(h.Versions) &&
		!slices.ContainsFunc(h.Hot, func(v []int) bool { return !slices.Contains(v, number) })
}

func (h *header) encode() []byte {
	h.Fingerprint = h.fingerprint()
	text, err := json.Marshal(h)
	if err != nil {
		panic(err) // numbers, texts and booleans
	}
	return text
}

// fingerprint tells types apart that are stored in different ways.
func (h *header) fingerprint() string {
	sum := fnv.New64a()
	fmt.Fprint(sum, h.Codec, " ")
	if h.Layout != "" {
		fmt.Fprint(sum, h.Layout, " ")
	}
	fmt.Fprint(sum, h.ID)
	for _, number := range h.Versions[h.Current] {
		h.field(number).sum(sum)
	}
	for _, number := range h.hot(h.Current) {
		h.field(number).sum(sum)
		fmt.Fprint(sum, " hot")
	}
	return fmt.Sprintf("%016x", sum.Sum64())
}

func (f *headerField) sum(to interface{ Write([]byte) (int, error) }) {
	fmt.Fprintf(to, " %d %s %s", f.Number, f.Name, f.Kind)
	if !f.scalar() {
		text, err := json.Marshal(f.form)
		fmt.Fprintf(to, " %s%v", text, err)
	}
}

func (h *header) field(number int) *headerField {
	return h.fieldWhere(func(f headerField) bool { return f.Number == number })
}

func (h *header) fieldNamed(name string) *headerField {
	return h.fieldWhere(func(f headerField) bool { return f.Name == name })
}

func (h *header) fieldWhere(is func(headerField) bool) *headerField {
	if i := slices.IndexFunc(h.Fields, is); i >= 0 {
		return &h.Fields[i]
	}
	return nil
}

func (h *header) index(name string) *headerIndex {
	for i := range h.Indexes {
		if h.Indexes[i].Name == name {
			return &h.Indexes[i]
		}
	}
	return nil
}

// parseHeader reads a header and refuses one that does not fit together.
func parseHeader(text []byte) (*header, error) {
	h := new(header)
	if err := json.Unmarshal(text, h); err != nil {
		return nil, corrupt("header: %w", err)
	}
	if h.Format < 1 || h.Format > headerFormat {
		return nil, &kv.Error{Op: "open collection", Kind: kv.Unsupported,
			Err:  fmt.Errorf("format %d, this program knows %d", h.Format, headerFormat),
			Hint: "use a newer program"}
	}
	if h.Format == 1 && (h.Layout != "single" || h.Codec != Binary.String() && h.Codec != JSON.String()) {
		return nil, &kv.Error{Op: "open collection", Kind: kv.Unsupported,
			Err:  fmt.Errorf("records in the codec %s and the layout %s, which are no longer kept", h.Codec, h.Layout),
			Hint: "with the release that wrote them, read all records and put them into a collection with the codec Binary"}
	}
	if err := h.check(); err != nil {
		return nil, corrupt("header: %w", err)
	}
	return h, nil
}

func (h *header) check() error {
	numbers := map[int]bool{}
	for i := range h.Fields {
		f := &h.Fields[i]
		if f.Number < 1 || f.Number >= 1<<16 || numbers[f.Number] || !isName(f.Name) || f.Label != "" &&
			!isName(f.Label) {
			return fmt.Errorf("field %d %q", f.Number, f.Name)
		}
		if err := f.form.check(0); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		if k := kindNamed(f.Kind); h.Format == 1 && f.Default != nil && (k == kindString || k == kindBytes) {
			f.Default = append(binary.AppendUvarint(nil, uint64(len(f.Default))), f.Default...)
		}
		if t := f.typ(); f.Default != nil {
			if err := newShape(t, &f.form).read(f.Default, reflect.New(t).UnsafePointer()); err != nil {
				return fmt.Errorf("default of field %s: %w", f.Name, err)
			}
		}
		numbers[f.Number] = true
	}
	for i, version := range slices.Concat(h.Versions, h.Hot) {
		for _, number := range version {
			if !numbers[number] {
				return fmt.Errorf("version %d has the unknown field %d", i, number)
			}
		}
		if !slices.IsSorted(version) {
			return fmt.Errorf("version %d is not in order", i)
		}
	}
	if h.Current < 0 || h.Current >= len(h.Versions) || len(h.Hot) > len(h.Versions) {
		return fmt.Errorf("current version %d of %d", h.Current, len(h.Versions))
	}
	if h.fieldNamed(h.ID) == nil {
		return errors.New("no field with the id")
	}
	if got := h.fingerprint(); got != h.Fingerprint {
		return fmt.Errorf("fingerprint %s, its fields give %s", h.Fingerprint, got)
	}
	h.Format, h.Layout = headerFormat, ""
	return nil
}
