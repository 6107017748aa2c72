package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// headerFormat is the version of the way in which collections are stored.
const headerFormat = 1

// header describes a collection. It is stored beside the records, as JSON.
type header struct {
	Format      int              `json:"format"`
	Codec       string           `json:"codec"`
	Layout      string           `json:"layout"`
	ID          string           `json:"id"`                // name of the field with the id
	Fingerprint string           `json:"fingerprint"`       // of codec, layout and the fields of the current version
	Fields      []headerField    `json:"fields"`            // all that there ever were; numbers are not used twice
	Versions    [][]int          `json:"versions"`          // numbers of the fields of each version, ascending
	Current     int              `json:"current"`           // the version that is written
	Indexes     []headerIndex    `json:"indexes,omitempty"` // their numbers are not used twice while they have entries
	Gob         []gobDefinitions `json:"gob,omitempty"`     // of GobShared: records begin with the number of theirs
}

type headerField struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	Kind   string `json:"kind"`

	// Default is what records have that were written without the field, as in appendValue. It is
	// set when the field is added and stays, because entries of indexes are made of it. Nil is
	// none: no record lacks the field.
	Default []byte `json:"default,omitzero"`
}

type headerIndex struct {
	Number   int      `json:"number"`
	Name     string   `json:"name"`
	Fields   []string `json:"fields"`
	Unique   bool     `json:"unique,omitempty"`
	Building bool     `json:"building,omitempty"` // not all records are in it yet
	Builder  string   `json:"builder,omitempty"`  // who builds it: whoever begins changes it, and stops the others
}

type gobDefinitions struct {
	Version  int    `json:"version"`
	Preamble []byte `json:"preamble"` // a stream with the definitions and one zero value
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
	fmt.Fprintf(sum, "%s %s %s", h.Codec, h.Layout, h.ID)
	for _, number := range h.Versions[h.Current] {
		f := h.field(number)
		fmt.Fprintf(sum, " %d %s %s", f.Number, f.Name, f.Kind)
	}
	return fmt.Sprintf("%016x", sum.Sum64())
}

func (h *header) field(number int) *headerField {
	for i := range h.Fields {
		if h.Fields[i].Number == number {
			return &h.Fields[i]
		}
	}
	return nil
}

func (h *header) fieldNamed(name string) *headerField {
	for i := range h.Fields {
		if h.Fields[i].Name == name {
			return &h.Fields[i]
		}
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
	if h.Format != headerFormat {
		return nil, &kv.Error{Op: "open collection", Kind: kv.Unsupported, Err: fmt.Errorf("format %d, this program knows %d", h.Format, headerFormat),
			Hint: "use a newer program"}
	}
	if err := h.check(); err != nil {
		return nil, corrupt("header: %w", err)
	}
	return h, nil
}

func (h *header) check() error {
	numbers := map[int]bool{}
	for _, f := range h.Fields {
		if f.Number < 1 || f.Number > 1<<20 || numbers[f.Number] || !isName(f.Name) || kindNamed(f.Kind) == unsupported {
			return fmt.Errorf("field %d %q of kind %q", f.Number, f.Name, f.Kind)
		}
		numbers[f.Number] = true
		if k := kindNamed(f.Kind); f.Default != nil {
			if err := storeValue(k, reflect.New(kinds[k].typ).UnsafePointer(), f.Default); err != nil {
				return fmt.Errorf("default of field %s: %w", f.Name, err)
			}
		}
	}
	for i, version := range h.Versions {
		for _, number := range version {
			if !numbers[number] {
				return fmt.Errorf("version %d has the unknown field %d", i, number)
			}
		}
		if !slices.IsSorted(version) {
			return fmt.Errorf("version %d is not in order", i)
		}
	}
	if h.Current < 0 || h.Current >= len(h.Versions) {
		return fmt.Errorf("current version %d of %d", h.Current, len(h.Versions))
	}
	for _, g := range h.Gob {
		if g.Version < 0 || g.Version >= len(h.Versions) {
			return fmt.Errorf("definitions of version %d of %d", g.Version, len(h.Versions))
		}
	}
	if got := h.fingerprint(); got != h.Fingerprint {
		return fmt.Errorf("fingerprint %s, its fields give %s", h.Fingerprint, got)
	}
	return nil
}

// Evolution says what to do where the program's type differs from the one that the collection was written with. A field
// whose kind changed is refused always: it needs another name.
type Evolution uint8

// The ways to deal with another type.
const (
	Refuse Evolution = iota // the difference is an error that names the fields
	Extend                  // the type may have more fields; a stored field that it lacks is an error
	Keep                    // the type may have more and fewer; what it lacks stays in the records, through every write
	Drop                    // the type may have more and fewer; what it lacks is gone from a record once it is written again
)

// adopt changes h, which was stored, so that records of a type with fields are written. Fields that
// are added get their defaults from the record at defaults.
func (h *header) adopt(fields []typeField, e Evolution, defaults unsafe.Pointer) error {
	var version []int
	var added, missing []string
	for _, f := range fields {
		stored := h.fieldNamed(f.name)
		switch {
		case stored == nil:
			if err := h.distinct(f.name); err != nil {
				return err
			}
			h.Fields = append(h.Fields, headerField{Number: h.nextNumber(), Name: f.name, Kind: kinds[f.kind].name})
			stored = &h.Fields[len(h.Fields)-1]
			added = append(added, f.name)
		case stored.Kind != kinds[f.kind].name:
			return mismatch(fmt.Errorf("field %s is stored as %s, the type has %s", f.name, stored.Kind, kinds[f.kind].name),
				"give the new field another name")
		case !slices.Contains(h.Versions[h.Current], stored.Number):
			added = append(added, f.name)
		}
		version = append(version, stored.Number)
		if err := h.setDefault(stored, f, slices.Contains(added, f.name), defaults); err != nil {
			return err
		}
	}
	for _, number := range h.Versions[h.Current] {
		if !slices.Contains(version, number) {
			missing = append(missing, h.field(number).Name)
			if e == Keep {
				version = append(version, number)
			}
		}
	}
	if err := e.allows(added, missing); err != nil {
		return err
	}
	slices.Sort(version)
	if h.Current = slices.IndexFunc(h.Versions, func(v []int) bool { return slices.Equal(v, version) }); h.Current < 0 {
		h.Versions = append(h.Versions, version)
		h.Current = len(h.Versions) - 1
	}
	return nil
}

// distinct refuses the name of a new field that a codec would take for one that is in old records:
// JSON does not tell upper from lower case, Gob calls a field note Xnote.
func (h *header) distinct(name string) error {
	for _, f := range h.Fields {
		if strings.EqualFold(f.Name, name) || strings.EqualFold(goName(f.Name), goName(name)) {
			return mismatch(fmt.Errorf("the new field %s is called like the stored field %s", name, f.Name),
				"give the new field another name; upper and lower case, and an X before a name, are not told apart")
		}
	}
	return nil
}

// setDefault notes what records have that lack a field of the type: its value in the record at
// defaults if the field is added now, or by a program that did not note it. Another one later is a
// Conflict; zero asks for nothing.
func (h *header) setDefault(stored *headerField, f typeField, added bool, defaults unsafe.Pointer) error {
	lacks := func(version []int) bool { return !slices.Contains(version, stored.Number) }
	if !added && !slices.ContainsFunc(h.Versions, lacks) {
		return nil
	}
	asked := appendValue([]byte{}, f.kind, unsafe.Add(defaults, f.offset))
	zero := appendValue([]byte{}, f.kind, reflect.New(kinds[f.kind].typ).UnsafePointer())
	switch {
	case added || stored.Default == nil:
		stored.Default = asked
	case !bytes.Equal(asked, stored.Default) && !bytes.Equal(asked, zero):
		return mismatch(fmt.Errorf("field %s was added with another default", f.name),
			"leave it out of Options.Default: a default is fixed when its field is added; put the records anew to change them")
	}
	return nil
}

func (h *header) nextNumber() int {
	next := 1
	for _, f := range h.Fields {
		next = max(next, f.Number+1)
	}
	return next
}

func (e Evolution) allows(added, missing []string) error {
	var differences []string
	if len(added) > 0 && e == Refuse {
		differences = append(differences, "the type has the new "+plural(added))
	}
	if len(missing) > 0 && e < Keep {
		differences = append(differences, "the type lacks the stored "+plural(missing))
	}
	if len(differences) == 0 {
		return nil
	}
	hint := "set Options.Evolve to Extend to add fields"
	if len(missing) > 0 {
		hint = "set Options.Evolve to Keep or Drop, which says what becomes of them"
	}
	return mismatch(errors.New(strings.Join(differences, "; ")), hint)
}

func plural(names []string) string {
	if len(names) == 1 {
		return "field " + names[0]
	}
	return "fields " + strings.Join(names, ", ")
}

// mismatch is the error of a type that is not the collection's.
func mismatch(err error, hint string) error { return conflict("open collection", err, hint) }
