package workload

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

//go:embed workload.schema.json
var ownSchema []byte

// compiled is the schema of a file, and its text as a document to look into.
var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(ownSchema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("workload.schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("workload.schema.json")
})

// parse reads the tree of text, in which lines are.
func (c *ownCheck) parse(text []byte) error {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		said := strings.Join(strings.Fields(yaml.FormatError(err, false, false)), " ")
		return c.wrong(nil, errors.New(said), "this is not YAML: indent with spaces, and put a space behind each colon")
	}
	if len(file.Docs) > 0 {
		c.root = file.Docs[0].Body
	}
	return nil
}

// valid holds text against the schema.
func (c *ownCheck) valid(text []byte) error {
	schema, err := compiled()
	if err != nil {
		return err
	}
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		return c.wrong(nil, err, "")
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return c.wrong(nil, err, "")
	}
	var invalid *jsonschema.ValidationError
	switch err := schema.Validate(document); {
	case err == nil:
		return nil
	case !errors.As(err, &invalid):
		return err
	}
	return c.first(leaves(invalid))
}

// leaves returns the errors that have no cause in others.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		all = append(all, leaves(cause)...)
	}
	return all
}

// first tells the error that stands first in the file.
func (c *ownCheck) first(all []*jsonschema.ValidationError) error {
	slices.SortStableFunc(all, func(a, b *jsonschema.ValidationError) int {
		return lineOf(c.root, a.InstanceLocation) - lineOf(c.root, b.InstanceLocation)
	})
	e := all[0]
	at, hint := slices.Clone(e.InstanceLocation), described(e.SchemaURL)
	if hint != "" {
		hint = "write " + hint
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		return c.wrong(append(at, k.Properties[0]), errors.New("there is no such field"),
			"use "+strings.Join(fieldsOf(e.SchemaURL), ", "))
	case *kind.Required:
		return c.wrong(append(at, k.Missing[0]), errors.New("it is missing"), hint)
	}
	return c.wrong(at, errors.New(e.ErrorKind.LocalizedString(message.NewPrinter(language.English))), hint)
}

// schemaAt returns the part of the schema that an URL names.
func schemaAt(url string) map[string]any {
	var at any
	if json.Unmarshal(ownSchema, &at) != nil {
		return nil
	}
	_, pointer, _ := strings.Cut(url, "#")
	for part := range strings.SplitSeq(strings.Trim(pointer, "/"), "/") {
		if fields, ok := at.(map[string]any); ok && part != "" {
			at = fields[part]
		}
	}
	fields, _ := at.(map[string]any)
	return fields
}

// described says what the schema says of the field at url.
func described(url string) string {
	said, _ := schemaAt(url)["description"].(string)
	return said
}

// fieldsOf lists the fields of the object at url.
func fieldsOf(url string) []string {
	properties, _ := schemaAt(url)["properties"].(map[string]any)
	var names []string
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
