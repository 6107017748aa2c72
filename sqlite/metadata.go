//go:build cgo

package sqlite

// #include "cross.h"
import "C"

import (
	"context"
	"strings"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// A Column is a column of a table, as it was declared.
type Column struct {
	Name          string `json:"name"`
	Type          string `json:"type,omitempty"`      // as it was written
	Collation     string `json:"collation,omitempty"` // "BINARY" as a rule
	NotNull       bool   `json:"not_null,omitempty"`
	PrimaryKey    bool   `json:"primary_key,omitempty"`
	AutoIncrement bool   `json:"auto_increment,omitempty"`
	Default       string `json:"default,omitempty"` // the expression; ColumnsOf and Describe alone tell it
}

// Column tells how a column of a table was declared. The schema is "main", that of ATTACH, or ""
// for the first that has the table. None is an error of kind [kv.NotFound].
func (c *Conn) Column(schema, table, column string) (Column, error) {
	if err := c.enter("column"); err != nil {
		return Column{}, err
	}
	defer c.leave()
	if strings.ContainsRune(schema+table+column, 0) {
		return Column{}, &kv.Error{Op: "column", Engine: engine, Path: c.path, Kind: kv.NotFound}
	}
	var inSchema *C.char
	if schema != "" {
		inSchema = C.CString(schema)
		defer C.free(unsafe.Pointer(inSchema))
	}
	inTable, name := C.CString(table), C.CString(column)
	defer C.free(unsafe.Pointer(inTable))
	defer C.free(unsafe.Pointer(name))
	var declared, collation *C.char
	var notNull, primary, auto C.int
	rc := C.sqlite3_table_column_metadata(c.c.db, inSchema, inTable, name, &declared, &collation,
		&notNull, &primary, &auto)
	if rc != rcOK || strings.EqualFold(table, hiddenTable) {
		err := c.failure(context.Background(), "column", rc)
		if Code(rc) == Failed || rc == rcOK {
			err = &kv.Error{Op: "column", Engine: engine, Path: c.path, Kind: kv.NotFound, Err: err}
		}
		return Column{}, err
	}
	return Column{Name: column, Type: C.GoString(declared), Collation: C.GoString(collation), NotNull: notNull != 0,
		PrimaryKey: primary != 0, AutoIncrement: auto != 0}, nil
}

// Tables returns the names of the tables of a schema, in order, without those of SQLite itself.
func (c *Conn) Tables(ctx context.Context, schema string) ([]string, error) {
	return c.list(ctx, `SELECT name FROM pragma_table_list WHERE schema = ?1 AND type = 'table'
		AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`, schema)
}

// ColumnsOf returns the columns of a table, those that are generated too, in the order in which
// they were declared.
func (c *Conn) ColumnsOf(ctx context.Context, schema, table string) ([]Column, error) {
	const query = " FROM pragma_table_xinfo(?2, ?1) WHERE hidden <> 1 ORDER BY cid"
	names, err := c.list(ctx, "SELECT name"+query, schema, table)
	if err != nil {
		return nil, err
	}
	defaults, err := c.list(ctx, "SELECT coalesce(dflt_value, '')"+query, schema, table)
	if err != nil {
		return nil, err
	}
	columns := make([]Column, len(names))
	for i, name := range names {
		if columns[i], err = c.Column(schema, table, name); err != nil {
			return nil, err
		}
		if i < len(defaults) {
			columns[i].Default = defaults[i]
		}
	}
	return columns, nil
}

// list returns the first column of a query.
func (c *Conn) list(ctx context.Context, sql string, args ...string) ([]string, error) {
	s, err := c.Prepare(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for i, a := range args {
		s.BindText(i+1, a)
	}
	var all []string
	for {
		ok, err := s.Next(ctx)
		if !ok {
			return all, err
		}
		all = append(all, s.Text(0))
	}
}
