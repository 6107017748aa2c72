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
	types, failed := c.texts("SELECT type FROM pragma_table_xinfo(" + literal(o.Table) + ")")
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if len(columns) == 0 {
		tables, err := c.tables()
		return errors.Join(unfit(fmt.Sprintf("name one of %q", tables), "there is no table %q", o.Table), err)
	}
	key, castKey, err := column(o.Table, cmp.Or(o.Key, "k"), "Key", columns, types)
	if err != nil {
		return err
	}
	value, castValue, err := column(o.Table, cmp.Or(o.Value, "v"), "Value", columns, types)
	if err != nil {
		return err
	}
	if castKey, err = c.lookAtKeys(o.Table, key, castKey); err != nil {
		return err
	}
	s.layout = newLayout(quoted(o.Table), key, value, key+binary, castKey, castValue)
	put, rc := c.db.Prepare(s.layout.Replace(kindPut.text()), 0)
	if rc != OK {
		return unfit("name a key column that is the primary key, or UNIQUE, and compared by COLLATE BINARY",
			"table %q: %v", o.Table, c.db.Failure(rc))
	}
	put.Finalize()
	return nil
}

// binary has SQL compare a column's bytes.
const binary = " COLLATE BINARY"

// asText has SQL take an argument for text.
const asText = " AS TEXT"

// column returns the column called name, quoted, and the cast for what is written to it.
func column(table, name, option string, columns, types []string) (column, cast string, err error) {
	i := slices.IndexFunc(columns, func(c string) bool { return strings.EqualFold(c, name) })
	if i < 0 {
		return "", "", unfit(fmt.Sprintf("name one with %s=COLUMN: %q", option, columns),
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
		return quoted(columns[i]), asText, nil
	case declared == "", has("BLOB"):
		return quoted(columns[i]), "", nil
	}
	return "", "", unfit("name a column of blobs or text", "column %q is of type %s", name, types[i])
}

// lookAtKeys returns the cast for the keys, which is cast if there are none. SQLite: the columns'
// types bind nobody, and values are ordered by what they are first, so that the first key and the
// last tell it of all.
func (c *conn) lookAtKeys(table, key, cast string) (string, error) {
	casts := map[string]string{"text": asText, "blob": ""}
	var first string
	for _, order := range []string{"", " DESC"} {
		found, err := c.text("SELECT iif(octet_length(" + key + ") = 0, 'nothing', typeof(" + key + ")) FROM " +
			quoted(table) + " ORDER BY " + key + binary + order + " LIMIT 1")
		if err != nil || found == "" { // no rows
			return cast, err
		}
		as, fits := casts[found]
		if !fits || first != "" && found != first {
			return "", unfit("the keys of a store are all blobs, or all text, of at least one byte",
				"table %q has a key that is %s", table, found)
		}
		first, cast = found, as
	}
	return cast, nil
}

// quoted makes name an identifier. SQLite: what stands in double quotes may be taken for a string.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// unfit is the error for a table that no store can be kept in.
func unfit(hint, format string, args ...any) error {
	return &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf(format, args...), Hint: hint}
}
