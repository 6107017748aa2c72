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
		said := strings.Join(strings.Fields(yaml.FormatError(err, false, false)), " ")
		return c.wrong(nil, errors.New(said), "this is not YAML: indent with spaces, and put a space behind each colon")
	}
	if len(file.Docs) > 0 {
		c.root = file.Docs[0].Body
	}
	return nil
}

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
