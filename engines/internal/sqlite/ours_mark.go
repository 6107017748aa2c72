package sqlite

import (
	"fmt"
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// The mark of a store: application_id is "assy" in the header of the file, user_version the format.
const (
	markOf = "1634956153/" // application_id
	format = "1"           // user_version
)

// mark makes the database that c has open a store's.
func (c *conn) mark() error {
	return c.exec("PRAGMA application_id = "+strings.TrimSuffix(markOf, "/"), "PRAGMA user_version = "+format)
}

// isEmpty tells, within a transaction, whether the database is empty or a store. Anything else is
// an error.
func (c *conn) isEmpty() (bool, error) {
	got, err := c.text("SELECT application_id || '/' || user_version FROM pragma_application_id, pragma_user_version")
	if err != nil || got == markOf+format {
		return false, err
	}
	if version, ours := strings.CutPrefix(got, markOf); ours {
		return false, &driver.Error{Kind: driver.Unsupported, Err: fmt.Errorf("the store has format %s", version),
			Hint: "this program knows format " + format + ": use a newer one"}
	}
	tables, err := c.tables()
	if err != nil || got == "0/0" && len(tables) == 0 {
		return true, err
	}
	return false, unfit("name another file, or a table of this one: ?Table=NAME&Key=COLUMN&Value=COLUMN",
		"the SQLite database of another program: application_id/user_version %s, tables %q", got, tables)
}

func (c *conn) tables() ([]string, error) {
	return c.texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
}
