package sqlite

import "strings"

// layout says where the pairs lie: it replaces the names in texts. Arguments are always bound as
// blobs.
type layout = *strings.Replacer

// own is the table of a store that this package made.
var own = newLayout("kv", "k", "v", "k", "", "")

const createTable = "CREATE TABLE IF NOT EXISTS kv(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID"

// newLayout takes names that are quoted for SQL; key is the column as an expression that compares
// bytes. The rest is what arguments are cast to, " AS TEXT" or nothing. SQLite: text and blobs are
// never equal, whatever their bytes.
func newLayout(table, column, value, key, castKey, castValue string) layout {
	arg := func(n, cast string) string {
		if cast == "" {
			return n
		}
		return "CAST(" + n + cast + ")"
	}
	return strings.NewReplacer("{table}", table, "{column}", column, "{value}", value, "{key}", key,
		"{key1}", arg("?1", castKey), "{key2}", arg("?2", castKey), "{value2}", arg("?2", castValue))
}

// texts are the statements whose text does not depend on a range.
var texts = [kindDeleteRange]string{
	kindBegin:  "BEGIN IMMEDIATE",
	kindRead:   "BEGIN",
	kindCommit: "COMMIT",
	// SQLite: a read transaction lasts as long as one reading statement of the connection does.
	// This one always has a row, that of the table, so stepping it once opens a snapshot and
	// resetting it ends it.
	kindPin: "SELECT 1 FROM sqlite_schema",
	kindGet: "SELECT {value} FROM {table} WHERE {key} = {key1}",
	kindLen: "SELECT octet_length({value}) FROM {table} WHERE {key} = {key1}",
	// SQLite: refuses the text if no unique index compares the key so.
	kindPut: "INSERT INTO {table}({column}, {value}) VALUES({key1}, {value2}) " +
		"ON CONFLICT({key}) DO UPDATE SET {value} = excluded.{value}",
	kindDelete: "DELETE FROM {table} WHERE {key} = {key1}",
}

// text returns the SQL of a statement, before its names are replaced.
func (k kind) text() string {
	if k < kindDeleteRange {
		return texts[k]
	}
	if k < kindScan {
		return "DELETE FROM {table}" + (k - kindDeleteRange).where()
	}
	shape := k - kindScan
	columns, order := "{column}, {value}", ""
	if shape&shapeKeys != 0 {
		columns = "{column}"
	}
	if shape&shapeReverse != 0 {
		order = " DESC"
	}
	return "SELECT " + columns + " FROM {table}" + shape.where() + " ORDER BY {key}" + order
}

// where returns the condition of a shape.
func (k kind) where() string {
	return [...]string{
		0:                     "",
		shapeStart:            " WHERE {key} >= {key1}",
		shapeEnd:              " WHERE {key} < {key1}",
		shapeStart | shapeEnd: " WHERE {key} >= {key1} AND {key} < {key2}",
	}[k&(shapeStart|shapeEnd)]
}
