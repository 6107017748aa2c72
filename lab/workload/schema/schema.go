// Package schema holds documents against a JSON schema (draft 2020-12), and says what to write
// where one is wrong. It knows the keywords that it is used with; a schema with others does not
// parse.
//
// Every assay process has it. A library of the whole standard compiles the standard's own schemas
// whenever a program starts: that was two fifths of the processor time of a start. The tests hold
// this package against such a library.
package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Schema is a schema, or a part of one, in the keywords of the standard.
type Schema struct {
	Schema      string             `json:"$schema"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Defs        map[string]*Schema `json:"$defs"`
	Ref         string             `json:"$ref"`

	Type types    `json:"type"`
	Enum []string `json:"enum"`

	MinLength int            `json:"minLength"`
	Pattern   *regexp.Regexp `json:"pattern"`

	Minimum *float64 `json:"minimum"`
	Maximum *float64 `json:"maximum"`

	MinItems int     `json:"minItems"`
	Items    *Schema `json:"items"`

	MinProperties int                `json:"minProperties"`
	Required      []string           `json:"required"`
	Properties    map[string]*Schema `json:"properties"`
	Additional    *Schema            `json:"additionalProperties"`

	never  bool    // the schema false, that nothing fulfils
	target *Schema // what Ref names
}

// Fault is what is wrong with a field.
type Fault struct {
	At   []string // the field, from the document down; one that is missing or should be, too
	Err  error
	Hint string // what to write there, "" if the schema does not say
}

// types are the types that a value may have. A schema writes one by itself.
type types []string

func (t *types) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("[")) {
		return json.Unmarshal(text, (*[]string)(t))
	}
	*t = make(types, 1)
	return json.Unmarshal(text, &(*t)[0])
}

// UnmarshalJSON refuses keywords that Check does not know.
func (s *Schema) UnmarshalJSON(text []byte) error {
	if string(text) == "false" {
		s.never = true
		return nil
	}
	type keywords Schema
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode((*keywords)(s))
}

// Parse reads a schema. References lead into its $defs.
func Parse(text []byte) (*Schema, error) {
	s := new(Schema)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, err
	}
	return s, s.link(s.Defs)
}

// link finds what the references in s name.
func (s *Schema) link(defs map[string]*Schema) error {
	if s.Ref != "" {
		if s.target = defs[strings.TrimPrefix(s.Ref, "#/$defs/")]; s.target == nil {
			return fmt.Errorf("%s is not there", s.Ref)
		}
	}
	parts := slices.Concat(slices.Collect(maps.Values(s.Properties)), slices.Collect(maps.Values(s.Defs)),
		[]*Schema{s.Items, s.Additional})
	for _, part := range parts {
		if part == nil {
			continue
		}
		if err := part.link(defs); err != nil {
			return err
		}
	}
	return nil
}

// Check returns what is wrong with v, a document as encoding/json decodes it with UseNumber.
func (s *Schema) Check(v any) []Fault { return s.check(v, nil, "") }

// check checks v, which stands at at. What should stand there is described; "" asks the schema.
func (s *Schema) check(v any, at []string, described string) []Fault {
	described = cmp.Or(described, s.Description)
	if s.target != nil {
		return s.target.check(v, at, described)
	}
	hint := ""
	if described != "" {
		hint = "write " + described
	}
	var faults []Fault
	wrong := func(format string, args ...any) {
		faults = append(faults, Fault{At: at, Err: fmt.Errorf(format, args...), Hint: hint})
	}
	if kind := typeOf(v); len(s.Type) > 0 && !slices.Contains(s.Type, kind) {
		if want := strings.Join(s.Type, " or "); v == nil {
			wrong("it is empty, want type %s", want)
		} else {
			wrong("%s is of type %s, not %s", told(v), kind, want)
		}
		return faults
	}
	if text, ok := v.(string); len(s.Enum) > 0 && !(ok && slices.Contains(s.Enum, text)) {
		wrong("%s is none of %s", told(v), strings.Join(s.Enum, ", "))
	}
	switch v := v.(type) {
	case string:
		if utf8.RuneCountInString(v) < s.MinLength {
			wrong("%q is too short", v)
		}
		if s.Pattern != nil && !s.Pattern.MatchString(v) {
			wrong("%q does not match %s", v, s.Pattern)
		}
	case json.Number:
		if n := number(v); s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum {
			wrong("%s is too small or too large", v)
		}
	case []any:
		if len(v) < s.MinItems {
			wrong("%d are too few, want at least %d", len(v), s.MinItems)
		}
		for i, item := range v {
			if s.Items != nil {
				faults = append(faults, s.Items.check(item, below(at, strconv.Itoa(i)), "")...)
			}
		}
	case map[string]any:
		if len(v) < s.MinProperties {
			wrong("it is empty")
		}
		faults = append(faults, s.fields(v, at, hint)...)
	}
	return faults
}

// fields returns what is wrong with the fields of an object.
func (s *Schema) fields(object map[string]any, at []string, hint string) (faults []Fault) {
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			missing := Fault{At: below(at, name), Err: errors.New("it is missing"), Hint: hint}
			if field := s.Properties[name]; field != nil && field.Description != "" {
				missing.Hint = "write " + name + ": " + field.Description
			}
			faults = append(faults, missing)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		field, ok := s.Properties[name]
		if !ok {
			field = s.Additional
		}
		switch {
		case field == nil:
		case field.never:
			faults = append(faults, Fault{At: below(at, name), Err: errors.New("there is no such field"),
				Hint: "use " + strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", ")})
		default:
			faults = append(faults, field.check(object[name], below(at, name), "")...)
		}
	}
	return faults
}

// below returns the place of a part of what stands at at.
func below(at []string, part string) []string { return append(slices.Clip(at), part) }

// typeOf returns the type of a decoded value, as schemas name it. 1.0 is an integer.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if n := number(v); n == math.Trunc(n) {
			return "integer"
		}
	}
	return "number"
}

// told returns what stands for v in a sentence: a short value itself.
func told(v any) string {
	switch v.(type) {
	case string:
		return fmt.Sprintf("%.40q", v)
	case bool, json.Number:
		return fmt.Sprint(v)
	}
	return "it"
}

// number returns the value of n, ±Inf of one that is too large.
func number(n json.Number) float64 {
	f, _ := n.Float64()
	return f
}
