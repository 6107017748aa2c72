//go:build cgo

package sqldriver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"reflect"
	"strings"
	"unsafe"

	"github.com/assaydb/assay/sqlite"
)

// rows are those of a run of a statement.
type rows struct {
	s     *stmt // nil when closed
	ctx   context.Context
	first bool // the current row has not been returned yet
	ended bool
	owned bool // the statement ends with the rows
}

var (
	_ driver.Rows                           = (*rows)(nil)
	_ driver.RowsColumnTypeDatabaseTypeName = (*rows)(nil)
	_ driver.RowsColumnTypeScanType         = (*rows)(nil)
	_ driver.RowsColumnTypeNullable         = (*rows)(nil)
	_ driver.RowsColumnTypeLength           = (*rows)(nil)
)

// A column is how the values of a result's column are returned.
type column struct {
	declared string // in capitals
	as       class
}

type class int

const (
	asStored class = iota
	asBool
	asTime
)

// describe looks at what the columns were declared as, once until the schema changes.
func (s *stmt) describe() {
	names := s.Columns() // others once SQLite has compiled the statement again
	if len(names) == len(s.named) && unsafe.SliceData(names) == unsafe.SliceData(s.named) {
		return
	}
	s.named = names
	s.columns = make([]column, len(names))
	for i := range s.columns {
		c := &s.columns[i]
		c.declared = strings.ToUpper(s.Declared(i))
		switch word, _, _ := strings.Cut(c.declared, "("); strings.TrimSpace(word) {
		case "BOOLEAN", "BOOL":
			c.as = asBool
		case "DATE", "DATETIME", "TIMESTAMP":
			c.as = asTime
		}
	}
}

// Columns implements [driver.Rows].
func (r *rows) Columns() []string {
	if r.s == nil {
		return nil
	}
	return r.s.Columns()
}

// Close implements [driver.Rows].
func (r *rows) Close() error {
	s := r.s
	if s == nil {
		return nil
	}
	r.s, s.inUse = nil, false
	if r.owned {
		return s.Close()
	}
	return s.Reset()
}

// Next implements [driver.Rows].
func (r *rows) Next(to []driver.Value) error {
	if r.s == nil || r.ended {
		return io.EOF
	}
	if !r.first {
		ok, err := r.s.Next(r.ctx)
		if err != nil {
			return plain(r.ctx, err)
		}
		if !ok {
			r.ended = true
			return io.EOF
		}
	}
	r.first = false
	for i := range to {
		to[i] = r.s.get(i, r.s.c.o)
	}
	return nil
}

// get returns a column of the current row.
func (s *stmt) get(i int, o *Options) driver.Value {
	var c column
	if i < len(s.columns) {
		c = s.columns[i]
	}
	switch s.Type(i) {
	case sqlite.Integer:
		v := s.Int(i)
		switch c.as {
		case asBool:
			return v > 0
		case asTime:
			return o.fromInteger(v)
		}
		return v
	case sqlite.Float:
		return s.Float(i)
	case sqlite.Text:
		v := s.Text(i)
		if c.as == asTime || o.AnyTimes && c.declared == "" {
			if t, ok := o.fromText(v); ok {
				return t
			}
		}
		return v
	case sqlite.Blob:
		return s.Bytes(i) // lent until the next row, as database/sql asks for
	}
	return nil
}

// ColumnTypeDatabaseTypeName implements [driver.RowsColumnTypeDatabaseTypeName]: what was declared,
// or for an expression the type of the current row's value.
func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	if r.s == nil {
		return ""
	}
	if d := r.s.columns[i].declared; d != "" || !r.first {
		return d
	}
	return r.s.Type(i).String()
}

// ColumnTypeNullable implements [driver.RowsColumnTypeNullable]: of results nobody knows.
func (r *rows) ColumnTypeNullable(int) (nullable, ok bool) { return true, true }

// ColumnTypeLength implements [driver.RowsColumnTypeLength]: texts and blobs have no limit.
func (r *rows) ColumnTypeLength(i int) (int64, bool) {
	switch affinity(r.ColumnTypeDatabaseTypeName(i)) {
	case sqlite.Text, sqlite.Blob:
		return 1<<31 - 1, true
	}
	return 0, false
}

// ColumnTypeScanType implements [driver.RowsColumnTypeScanType].
func (r *rows) ColumnTypeScanType(i int) reflect.Type {
	if r.s == nil {
		return reflect.TypeFor[any]()
	}
	switch r.s.columns[i].as {
	case asBool:
		return reflect.TypeFor[sql.NullBool]()
	case asTime:
		return reflect.TypeFor[sql.NullTime]()
	}
	switch affinity(r.ColumnTypeDatabaseTypeName(i)) {
	case sqlite.Integer:
		return reflect.TypeFor[sql.NullInt64]()
	case sqlite.Float:
		return reflect.TypeFor[sql.NullFloat64]()
	case sqlite.Text:
		return reflect.TypeFor[sql.NullString]()
	case sqlite.Blob:
		return reflect.TypeFor[sql.RawBytes]()
	}
	return reflect.TypeFor[any]()
}

// affinity returns what SQLite makes of values of a declared type:
// https://sqlite.org/datatype3.html#determination_of_column_affinity.
func affinity(declared string) sqlite.Type {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(declared, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("INT"):
		return sqlite.Integer
	case has("CHAR", "CLOB", "TEXT"):
		return sqlite.Text
	case has("BLOB"):
		return sqlite.Blob
	case has("REAL", "FLOA", "DOUB"):
		return sqlite.Float
	}
	return sqlite.Null
}
