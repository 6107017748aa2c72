package sqlite

import (
	"fmt"
	"strings"
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
	case kindRead:
		return "BEGIN"
	case kindCommit:
		return "COMMIT"
	case kindPin:
		// SQLite: a read transaction lasts as long as one reading statement of the connection does.
		// This one always has a row, that of the table, so stepping it once opens a snapshot and
		// resetting it ends it.
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

// arg is argument n, which is always bound as a blob. SQLite: text and blobs are never equal,
// whatever their bytes.
func arg(n int, text bool) string {
	if text {
		return fmt.Sprintf("CAST(?%d AS TEXT)", n)
	}
	return fmt.Sprintf("?%d", n)
}

// quoted makes name an identifier. SQLite: what stands in double quotes may be taken for a string.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
