package sqltable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open file.
type store struct {
	db     *sql.DB
	path   string
	tables []*table     // in the order of their prefixes
	looked func() error // ends a look at the file
}

// table is a Table, as it is in the file.
type table struct {
	Table
	keys, values []string // names of columns
	kinds        []Type   // of the keys
	raw, rawText bool     // a value is one column, of text
	columns      string   // keys, then values, for SELECT
	equal        string   // the condition of one key
	put, delete  string   // statements
}

// Caps tells that every commit is synced.
func (s *store) Caps() driver.Caps { return caps }

// Close closes the connections.
func (s *store) Close() error { return errors.Join(s.db.Close(), s.looked()) }

// removeLog has SQLite remove a log in which there is nothing. What fails leaves it: that is no
// error of a look.
func removeLog(path string) error {
	db, err := sql.Open("sqlite", fileURL(path, "mode=rw"))
	if err != nil {
		return nil
	}
	_, _ = db.Exec("PRAGMA schema_version") // SQLite: who reads opens the log
	_ = db.Close()
	return nil
}

// Check has SQLite look at all that is stored.
func (s *store) Check(ctx context.Context) error {
	found, err := s.names(ctx, "PRAGMA integrity_check")
	if err == nil && (len(found) != 1 || found[0] != "ok") {
		err = &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("integrity_check: %q", found)}
	}
	return errors.Join(classed(err), s.whole(ctx))
}

// whole refuses a file that has lost its end. SQLite: it reads zeros for what is missing of the
// last page.
func (s *store) whole(ctx context.Context) error {
	var size int64
	if log, err := os.Stat(s.path + "-wal"); err == nil && log.Size() > 0 {
		return nil // the rest may be in there
	}
	const query = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
	if err := s.db.QueryRowContext(ctx, query).Scan(&size); err != nil {
		return err
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	if info.Size() < size {
		return &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("the file has %d bytes of %d", info.Size(), size)}
	}
	return nil
}

func (s *store) open(ctx context.Context, wanted []Table, create bool) error {
	var encoding string
	if err := s.db.QueryRowContext(ctx, "PRAGMA encoding").Scan(&encoding); err != nil {
		return err
	}
	if err := s.whole(ctx); err != nil {
		return err
	}
	if encoding != "UTF-8" {
		return invalid("dump it and load it into a new file", "the text in it is stored as %s", encoding)
	}
	there, err := s.names(ctx, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"+notSQLites)
	if err != nil {
		return err
	}
	if len(wanted) == 0 {
		tables, err := s.names(ctx, "SELECT name FROM sqlite_schema WHERE type = 'table'"+notSQLites)
		if err != nil {
			return err
		}
		for _, name := range tables {
			wanted = append(wanted, Table{Prefix: name + "/", Name: name})
		}
		if err := checkPrefixes(wanted); err != nil {
			return err
		}
	}
	if create && len(there) == 0 {
		if err := s.create(ctx, wanted); err != nil {
			return err
		}
		for _, t := range wanted {
			there = append(there, t.Name)
		}
	}
	slices.SortFunc(wanted, func(a, b Table) int { return strings.Compare(a.Prefix, b.Prefix) })
	for _, w := range wanted {
		if !slices.Contains(there, w.Name) {
			return invalid(fmt.Sprintf("name one of %q", there), "there is no table %q", w.Name)
		}
		t := &table{Table: w}
		if err := t.look(ctx, s); err != nil {
			return err
		}
		s.tables = append(s.tables, t)
	}
	return nil
}

// notSQLites leaves out the tables that SQLite makes for itself.
const notSQLites = ` AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`

// create makes the tables, in one transaction.
func (s *store) create(ctx context.Context, wanted []Table) error {
	names := map[Type]string{Int: " INTEGER", Text: " TEXT", Blob: " BLOB", Real: " REAL"}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // of what was not committed
	for _, t := range wanted {
		if len(t.Key) == 0 || len(t.Value) == 0 {
			return invalid("write tables="+t.Name+"(KEY):VALUE", "there is no table %q, and no columns to make it of",
				t.Name)
		}
		var columns, keys []string
		for _, c := range t.Key {
			if c.Type == "" {
				c.Type = Blob
			}
			columns, keys = append(columns, quote(c.Name)+names[c.Type]+" NOT NULL"), append(keys, quote(c.Name))
		}
		for _, c := range t.Value {
			if c.Type == "" && len(t.Value) == 1 && !t.Object {
				c.Type = Blob
			}
			columns = append(columns, quote(c.Name)+names[c.Type])
		}
		text := "CREATE TABLE " + quote(t.Name) + "(" + strings.Join(columns, ", ") +
			", PRIMARY KEY(" + strings.Join(keys, ", ") + "))"
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// look finds the table's columns, and what its keys are.
func (t *table) look(ctx context.Context, s *store) error {
	name := literal(t.Name)
	all, err := s.names(ctx, "SELECT name FROM pragma_table_info("+name+") ORDER BY cid")
	if err != nil {
		return err
	}
	primary, err := s.names(ctx, "SELECT name FROM pragma_table_info("+name+") WHERE pk > 0 ORDER BY pk")
	if err != nil {
		return err
	}
	t.keys, t.raw = primary, len(t.Value) == 1 && !t.Object
	if len(t.Key) > 0 {
		t.keys = columnNames(t.Key)
	}
	if len(t.keys) == 0 {
		t.keys, all = []string{"_rowid_"}, append(all, "_rowid_")
	}
	if t.values = columnNames(t.Value); len(t.Value) == 0 {
		t.values = slices.DeleteFunc(slices.Clone(all), func(c string) bool { return slices.Contains(t.keys, c) })
	}
	for _, c := range slices.Concat(t.keys, t.values) {
		if !slices.Contains(all, c) {
			return invalid(fmt.Sprintf("name one of %q", all), "table %q has no column %q", t.Name, c)
		}
	}
	for _, c := range t.keys {
		kind, err := t.kindOf(ctx, s, c)
		if err != nil {
			return err
		}
		t.kinds = append(t.kinds, kind)
	}
	if t.raw {
		kind, err := t.declared(ctx, s, t.values[0])
		if err != nil {
			return err
		}
		t.rawText = kind == Text
	}
	t.prepare()
	return nil
}

func columnNames(columns []Column) (names []string) {
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

// kindOf tells what a column of keys holds, by the first and the last: SQLite sorts by what values
// are before it looks at them.
func (t *table) kindOf(ctx context.Context, s *store, column string) (Type, error) {
	names := map[string]Type{"integer": Int, "text": Text, "blob": Blob}
	query := "SELECT typeof(c) FROM (SELECT min(%[1]s) AS c FROM %[2]s UNION ALL SELECT max(%[1]s) FROM %[2]s UNION ALL " +
		"SELECT * FROM (SELECT %[1]s FROM %[2]s WHERE %[1]s IS NULL LIMIT 1)) WHERE c IS NOT NULL OR EXISTS(SELECT 1 FROM %[2]s)"
	found, err := s.names(ctx, fmt.Sprintf(query, quote(column), quote(t.Name)))
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return t.declared(ctx, s, column)
	}
	for _, f := range found {
		if names[f] == "" || f != found[0] {
			return "", invalid("name a column whose values are all of one kind: integers, text or blobs",
				"table %q: column %q of the key holds %s", t.Name, column, strings.Join(slices.Compact(found), " and "))
		}
	}
	return names[found[0]], nil
}

// declared tells what a column is for. SQLite: it holds what these words in its type say, in this
// order.
func (t *table) declared(ctx context.Context, s *store, column string) (Type, error) {
	found, err := s.names(ctx, "SELECT upper(type) FROM pragma_table_info("+literal(t.Name)+")"+
		" WHERE name = "+literal(column))
	if err != nil {
		return "", err
	}
	has := func(word string) bool { return len(found) > 0 && strings.Contains(found[0], word) }
	switch {
	case has("INT"), len(found) == 0: // the rowid
		return Int, nil
	case has("CHAR"), has("CLOB"), has("TEXT"):
		return Text, nil
	}
	return Blob, nil
}

// prepare writes the statements. SQLite: a column behind a plus is told as it is stored, not as its
// declaration reads.
func (t *table) prepare() {
	var columns, key, quoted, marks, set []string
	for _, c := range slices.Concat(t.keys, t.values) {
		columns, quoted, marks = append(columns, "+"+quote(c)), append(quoted, quote(c)), append(marks, "?")
	}
	for _, c := range t.keys {
		key = append(key, quote(c)+bytewise+" = ?")
	}
	for _, c := range t.values {
		set = append(set, quote(c)+" = excluded."+quote(c))
	}
	t.columns, t.equal = strings.Join(columns, ", "), " WHERE "+strings.Join(key, " AND ")
	t.put = "INSERT INTO " + quote(t.Name) + "(" + strings.Join(quoted, ", ") + ")" +
		" VALUES(" + strings.Join(marks, ", ") + ")" +
		" ON CONFLICT(" + strings.Join(quoted[:len(t.keys)], ", ") + ") DO "
	if len(set) == 0 {
		t.put += "NOTHING"
	} else {
		t.put += "UPDATE SET " + strings.Join(set, ", ")
	}
	t.delete = "DELETE FROM " + quote(t.Name) + t.equal
}

// bytewise has SQL compare a column's bytes.
const bytewise = " COLLATE BINARY"

// names returns the first column of a query.
func (s *store) names(ctx context.Context, query string) (names []string, err error) {
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// quote makes name an identifier. SQLite: what stands in double quotes may be taken for a string.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
