package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"pgregory.net/rapid"

	"github.com/assaydb/assay/lab/workload/schema"
)

// both returns the schema of workloads, as it is parsed here and by a library of the whole
// standard.
func both(t *testing.T) (*schema.Schema, *jsonschema.Schema) {
	t.Helper()
	const file = "../workload.schema.json"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// samples returns the workloads that ship, as documents.
func samples(t *testing.T) (all []any) {
	t.Helper()
	files, err := filepath.Glob("../../../examples/workloads/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		data, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, doc)
	}
	return all
}

// TestFaultsAreThoseOfTheStandard holds what is found against the library: documents that are like
// those that ship, but for a few changes, have faults in the same fields.
func TestFaultsAreThoseOfTheStandard(t *testing.T) {
	ours, theirs := both(t)
	samples := samples(t)
	valid, invalid := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			doc := rapid.SampledFrom(samples).Draw(t, "sample")
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				doc = changed(t, doc)
			}
			if sameFaults(t, ours, theirs, doc) {
				invalid++
			} else {
				valid++
			}
		}
	})
	if valid == 0 || invalid == 0 {
		t.Errorf("%d documents were valid, %d not: want some of both", valid, invalid)
	}
}

// sameFaults fails t where the two find doc wrong in different fields, and reports whether it is
// wrong.
func sameFaults(t *rapid.T, ours *schema.Schema, theirs *jsonschema.Schema, doc any) bool {
	var got []string
	for _, f := range ours.Check(doc) {
		got = append(got, strings.Join(f.At, "."))
	}
	want := places(t, theirs.Validate(doc))
	slices.Sort(got)
	slices.Sort(want)
	if got, want := slices.Compact(got), slices.Compact(want); !slices.Equal(got, want) {
		text, _ := json.Marshal(doc)
		t.Fatalf("faults at %q, want %q, in %s", got, want, text)
	}
	return len(want) > 0
}

// places returns the fields that the library finds wrong.
func places(t *rapid.T, err error) (at []string) {
	var invalid *jsonschema.ValidationError
	if err == nil {
		return nil
	}
	if !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		var missing []string
		switch k := e.ErrorKind.(type) {
		case *kind.AdditionalProperties:
			missing = k.Properties
		case *kind.Required:
			missing = k.Missing
		default:
			if len(e.Causes) == 0 {
				at = append(at, strings.Join(e.InstanceLocation, "."))
			}
		}
		for _, name := range missing {
			at = append(at, strings.Join(append(slices.Clip(e.InstanceLocation), name), "."))
		}
	}
	walk(invalid)
	return at
}

// changed returns doc with another value somewhere, or a field less or more.
func changed(t *rapid.T, doc any) any {
	deeper := rapid.IntRange(0, 4).Draw(t, "deeper") > 0
	switch v := doc.(type) {
	case map[string]any:
		if deeper && len(v) > 0 {
			v = maps.Clone(v)
			name := rapid.SampledFrom(slices.Sorted(maps.Keys(v))).Draw(t, "field")
			switch rapid.IntRange(0, 6).Draw(t, "change") {
			case 0:
				delete(v, name)
			case 1:
				v[rapid.SampledFrom(names).Draw(t, "new")] = v[name]
			default:
				v[name] = changed(t, v[name])
			}
			return v
		}
	case []any:
		if deeper && len(v) > 0 {
			v = slices.Clone(v)
			i := rapid.IntRange(0, len(v)-1).Draw(t, "item")
			v[i] = changed(t, v[i])
			return v
		}
	}
	return rapid.SampledFrom(values).Draw(t, "value")
}

var names = []string{"summary", "promise", "stores", "operations", "keys", "values", "queue", "log", "count", "order",
	"mix", "phases", "read", "scan", "iterations", "workers", "open", "none", ""}

var values = []any{nil, true, false, "", "x", "é", "10k", "0k", "synced", "append", "uniform", "a b", json.Number("0"),
	json.Number("1"), json.Number("-1"), json.Number("2.0"), json.Number("0.5"), json.Number("1e2"),
	json.Number("10000"), json.Number("10001"), json.Number("1e40"), []any{}, []any{"x"}, map[string]any{},
	map[string]any{"read": json.Number("100")}, map[string]any{"name": "a"}}

// TestASchemaWithOtherKeywordsDoesNotParse: nothing would be held to a keyword that is not known.
func TestASchemaWithOtherKeywordsDoesNotParse(t *testing.T) {
	for _, text := range []string{
		`{"properties": {"a": {"oneOf": []}}}`, `{"$defs": {"a": {"minimun": 1}}}`, `{"$ref": "#/$defs/none"}`,
		`{"pattern": "("}`, `{"type": 1}`,
	} {
		if _, err := schema.Parse([]byte(text)); err == nil {
			t.Errorf("%s parses", text)
		}
	}
}
