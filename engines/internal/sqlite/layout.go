package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// layout says where the pairs lie. Names are quoted for SQL.
type layout struct {
	table, column, value string
	key                  string // the column as an expression that compares bytes
	keyText, valueText   bool   // the column holds text, not blobs
}

// own is the table of a store that this package made.
var own = layout{table: "kv", column: "k", key: "k", value: "v"}

const createTable = "CREATE TABLE kv(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID"

// text returns the SQL of a statement.
func (l *layout) text(k kind) string {
	one := " WHERE " + l.key + " = " + arg(1, l.keyText)
	switch k {
	case kindBegin:
		return "BEGIN IMMEDIATE"
	case kindCommit:
		return "COMMIT"
	case kindPin:
		// SQLite: a read transaction lasts as long as one reading statement of the connection does. This one always has
		// a row, that of the table, so stepping it once opens a snapshot and resetting it ends it.
		return "SELECT 1 FROM sqlite_schema"
	case kindGet:
		return "SELECT " + l.value + " FROM " + l.table + one
	case kindLen:
		return "SELECT octet_length(" + l.value + ") FROM " + l.table + one
	case kindPut:
		// SQLite: refuses the text if no unique index compares the key so.
		return fmt.Sprintf("INSERT INTO %s(%s, %s) VALUES(%s, %s) ON CONFLICT(%s) DO UPDATE SET %[3]s = excluded.%[3]s",
			l.table, l.column, l.value, arg(1, l.keyText), arg(2, l.valueText), l.key)
	case kindDelete:
		return "DELETE FROM " + l.table + one
	}
	if k < kindScan {
		return "DELETE FROM " + l.table + l.where(k-kindDeleteRange)
	}
	shape := k - kindScan
	columns, order := l.column+", "+l.value, ""
	if shape&shapeKeys != 0 {
		columns = l.column
	}
	if shape&shapeReverse != 0 {
		order = " DESC"
	}
	return "SELECT " + columns + " FROM " + l.table + l.where(shape) + " ORDER BY " + l.key + order
}

func (l *layout) where(shape kind) string {
	start, end := l.key+" >= "+arg(1, l.keyText), l.key+" < "
	switch shape & (shapeStart | shapeEnd) {
	case shapeStart:
		return " WHERE " + start
	case shapeEnd:
		return " WHERE " + end + arg(1, l.keyText)
	case shapeStart | shapeEnd:
		return " WHERE " + start + " AND " + end + arg(2, l.keyText)
	}
	return ""
}

// arg is argument n, which is always bound as a blob. SQLite: text and blobs are never equal, whatever their bytes.
func arg(n int, text bool) string {
	if text {
		return fmt.Sprintf("CAST(?%d AS TEXT)", n)
	}
	return fmt.Sprintf("?%d", n)
}

// quoted makes name an identifier. SQLite: what stands in double quotes may be taken for a string.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// adopt makes the table that the options name the store's, if a store can be kept in it.
func (s *Store) adopt(c *conn) error {
	o := &s.options
	if encoding, err := c.text("PRAGMA encoding"); err != nil {
		return err
	} else if encoding != "UTF-8" {
		return unfit("copy the pairs into a new database", "the text in it is stored as %s", strings.ReplaceAll(encoding, "\x00", ""))
	}
	columns, err := c.texts("SELECT name FROM pragma_table_xinfo(" + literal(o.Table) + ")")
	if err != nil {
		return err
	}
	types, err := c.texts("SELECT type FROM pragma_table_xinfo(" + literal(o.Table) + ")")
	if err != nil {
		return err
	}
	if len(columns) == 0 {
		tables, err := c.tables()
		return errors.Join(unfit(fmt.Sprintf("name one of %q", tables), "there is no table %q", o.Table), err)
	}
	l := layout{table: quoted(o.Table)}
	if l.column, l.keyText, err = column(o.Table, orElse(o.Key, "k"), "Key", columns, types); err != nil {
		return err
	}
	if l.value, l.valueText, err = column(o.Table, orElse(o.Value, "v"), "Value", columns, types); err != nil {
		return err
	}
	l.key = l.column + " COLLATE BINARY"
	if err := l.lookAtKeys(c, o.Table); err != nil {
		return err
	}
	put, rc := c.db.Prepare(l.text(kindPut), false)
	if rc != OK {
		return unfit("name a key column that is the primary key, or UNIQUE, and compared by COLLATE BINARY",
			"table %q: %v", o.Table, c.db.Failure(rc))
	}
	put.Finalize()
	s.layout = &l
	return nil
}

// column returns the column called name, quoted, and whether it holds text.
func column(table, name, option string, columns, types []string) (string, bool, error) {
	i := slices.IndexFunc(columns, func(c string) bool { return strings.EqualFold(c, name) })
	if i < 0 {
		return "", false, unfit(fmt.Sprintf("name one with %s=COLUMN: %q", option, columns), "table %q has no column %q", table, name)
	}
	// SQLite: a column holds what these words in its type say, in this order.
	declared := strings.ToUpper(types[i])
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(declared, w) })
	}
	switch {
	case has("INT"):
	case has("CHAR", "CLOB", "TEXT"):
		return quoted(columns[i]), true, nil
	case declared == "", has("BLOB"):
		return quoted(columns[i]), false, nil
	}
	return "", false, unfit("name a column of blobs or text", "column %q is of type %s", name, types[i])
}

// lookAtKeys learns what the keys are. SQLite: the columns' types bind nobody, and values are ordered by what they are
// first, so that the first key and the last tell it of all.
func (l *layout) lookAtKeys(c *conn, table string) error {
	for _, order := range []string{"", " DESC"} {
		found, err := c.text("SELECT iif(octet_length(" + l.column + ") = 0, 'nothing', typeof(" + l.column + ")) FROM " +
			l.table + " ORDER BY " + l.key + order + " LIMIT 1")
		switch {
		case err != nil:
			return err
		case found == "":
			return nil // no rows
		case order == "" && (found == "text" || found == "blob"):
			l.keyText = found == "text"
		case found != "text" && found != "blob", l.keyText != (found == "text"):
			return unfit("the keys of a store are all blobs, or all text, of at least one byte", "table %q has a key that is %s", table, found)
		}
	}
	return nil
}

// unfit is the error for a table that no store can be kept in.
func unfit(hint, format string, args ...any) error {
	return &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf(format, args...), Hint: hint}
}

func orElse(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}
