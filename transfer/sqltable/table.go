package sqltable

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
)

// Table says which rows of which table are pairs.
type Table struct {
	Prefix string   // with which the keys begin
	Name   string   // of the table
	Key    []Column // none is the primary key, or the rowid
	Value  []Column // none is all other columns
	Object bool     // a value of one column is a JSON object, too
}

// Column is a column of a table.
type Column struct {
	Name string
	Type Type // of one that is made; "" is the usual one
}

// Type is what a column holds.
type Type string

// The types of columns.
const (
	Int  Type = "int"
	Text Type = "text"
	Blob Type = "blob"
	Real Type = "real"
)

var types = []Type{"", Int, Text, Blob, Real}

// URL returns the URL of the tables in the SQLite file at path. No tables are all that the file
// has.
func URL(path string, tables ...Table) string {
	u := transfer.WithPath("sqltable:", path)
	if len(tables) == 0 {
		return u
	}
	var specs []string
	for _, t := range tables {
		specs = append(specs, t.String())
	}
	return u + "?tables=" + url.QueryEscape(strings.Join(specs, " "))
}

// String returns t as the parameter tables has it.
func (t Table) String() string {
	var b strings.Builder
	if t.Prefix != "" {
		b.WriteString(escape(t.Prefix) + "=")
	}
	b.WriteString(escape(t.Name))
	if len(t.Key) > 0 {
		b.WriteString("(" + columnList(t.Key) + ")")
	}
	switch {
	case t.Object && len(t.Value) > 0:
		b.WriteString(":{" + columnList(t.Value) + "}")
	case len(t.Value) > 0:
		b.WriteString(":" + columnList(t.Value))
	}
	return b.String()
}

func columnList(columns []Column) string {
	var list []string
	for _, c := range columns {
		name := escape(c.Name)
		if c.Type != "" {
			name += "/" + string(c.Type)
		}
		list = append(list, name)
	}
	return strings.Join(list, ",")
}

// escape writes the bytes that mean something in a table's text as %xx.
func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; c <= ' ' || strings.IndexByte("%=(){}:,/", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// ParseTables reads tables as [Table.String] writes them, with spaces in between. What it cannot
// read is Invalid.
func ParseTables(text string) (tables []Table, err error) {
	for spec := range strings.FieldsSeq(text) {
		t, err := parseTable(spec)
		if err != nil {
			return nil, invalid("write [PREFIX=]TABLE[(KEY,...)][:VALUE,...]", "table %q: %w", spec, err)
		}
		tables = append(tables, t)
	}
	return tables, checkPrefixes(tables)
}

func parseTable(spec string) (t Table, err error) {
	if prefix, rest, ok := strings.Cut(spec, "="); ok {
		if t.Prefix, err = unescape(prefix); err != nil {
			return t, err
		}
		spec = rest
	}
	name, values, hasValues := strings.Cut(spec, ":")
	name, keys, hasKeys := strings.Cut(name, "(")
	if hasKeys {
		inner, ok := strings.CutSuffix(keys, ")")
		if !ok {
			return t, errors.New("no closing parenthesis behind the key")
		}
		if t.Key, err = parseColumns(inner); err != nil {
			return t, err
		}
	}
	if hasValues {
		inner, isObject := strings.CutPrefix(values, "{")
		if isObject {
			t.Object, values = true, strings.TrimSuffix(inner, "}")
		}
		if t.Value, err = parseColumns(values); err != nil {
			return t, err
		}
	}
	t.Name, err = unescape(name)
	if err == nil && t.Name == "" {
		err = errors.New("no name")
	}
	return t, err
}

func parseColumns(text string) (columns []Column, err error) {
	for part := range strings.SplitSeq(text, ",") {
		name, kind, _ := strings.Cut(part, "/")
		c := Column{Type: Type(kind)}
		if c.Name, err = unescape(name); err != nil {
			return nil, err
		}
		if c.Name == "" || !slices.Contains(types, c.Type) {
			return nil, fmt.Errorf("column %q: a name, and int, text, blob or real behind a slash, are wanted", part)
		}
		columns = append(columns, c)
	}
	return columns, nil
}

func unescape(text string) (string, error) { return url.PathUnescape(text) }

// checkPrefixes refuses tables of which a key could not tell one from the other.
func checkPrefixes(tables []Table) error {
	for i, a := range tables {
		for j, b := range tables {
			if i != j && strings.HasPrefix(b.Prefix, a.Prefix) {
				return invalid("give each table a prefix of its own, for example "+b.Name+"/="+b.Name,
					"keys of %s (prefix %q) and %s (prefix %q) would mix", a.Name, a.Prefix, b.Name, b.Prefix)
			}
		}
	}
	return nil
}

func invalid(hint, format string, args ...any) error {
	return &kv.Error{Kind: kv.Invalid, Err: fmt.Errorf(format, args...), Hint: hint}
}
