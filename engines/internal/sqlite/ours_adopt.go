package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// adopt makes the table that the options name the store's, if a store can be kept in it.
func (s *Store) adopt(c *conn) error {
	o := &s.options
	if encoding, err := c.text("PRAGMA encoding"); err != nil {
		return err
	} else if encoding != "UTF-8" {
		encoding = strings.ReplaceAll(encoding, "\x00", "")
		return unfit("copy the pairs into a new database", "the text in it is stored as %s", encoding)
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
	if l.column, l.keyText, err = column(o.Table, cmp.Or(o.Key, "k"), "Key", columns, types); err != nil {
		return err
	}
	if l.value, l.valueText, err = column(o.Table, cmp.Or(o.Value, "v"), "Value", columns, types); err != nil {
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
		return "", false, unfit(fmt.Sprintf("name one with %s=COLUMN: %q", option, columns),
			"table %q has no column %q", table, name)
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

// lookAtKeys learns what the keys are. SQLite: the columns' types bind nobody, and values are
// ordered by what they are first, so that the first key and the last tell it of all.
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
			return unfit("the keys of a store are all blobs, or all text, of at least one byte",
				"table %q has a key that is %s", table, found)
		}
	}
	return nil
}

// unfit is the error for a table that no store can be kept in.
func unfit(hint, format string, args ...any) error {
	return &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf(format, args...), Hint: hint}
}
