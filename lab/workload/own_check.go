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

	"github.com/assaydb/assay/lab/workload/schema"
)

//go:embed workload.schema.json
var ownSchema []byte

// compiled is the schema of a file.
var compiled = sync.OnceValues(func() (*schema.Schema, error) { return schema.Parse(ownSchema) })

// parse reads the tree of text, in which lines are.
func (c *ownCheck) parse(text []byte) error {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return c.unread(err)
	}
	if len(file.Docs) > 0 {
		c.root = file.Docs[0].Body
	}
	return nil
}

// unread returns the error of a file that the parser does not take, at the line that it names.
func (c *ownCheck) unread(err error) error {
	hint := "this is not YAML: indent with spaces, and put a space behind each colon"
	var found yaml.Error
	if !errors.As(err, &found) || found.GetToken() == nil || found.GetToken().Position == nil {
		return c.wrong(nil, errors.New(oneLine(err.Error())), hint)
	}
	said := oneLine(found.GetMessage())
	if strings.Contains(said, "already defined") {
		hint = "write the field once"
	}
	return c.wrongIn(found.GetToken().Position.Line, nil, errors.New(said), hint)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// valid holds text against the schema, and tells the fault that stands first in the file.
func (c *ownCheck) valid(text []byte) error {
	s, err := compiled()
	if err != nil {
		return err
	}
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		return c.wrong(nil, err, "")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return c.wrong(nil, err, "")
	}
	faults := s.Check(document)
	if len(faults) == 0 {
		return nil
	}
	first := slices.MinFunc(faults, func(a, b schema.Fault) int { return lineOf(c.root, a.At) - lineOf(c.root, b.At) })
	return c.wrong(first.At, first.Err, first.Hint)
}
