package sqlite

import (
	"fmt"

	"github.com/assaydb/assay/kv/driver"
)

// verify reads back what was asked for.
func (c *conn) verify(asked []driver.Setting) error {
	for _, s := range asked {
		got, err := c.pragma(s.Name)
		if err != nil {
			return err
		}
		if got != s.Value {
			return refused(s.Name, s.Value, got)
		}
	}
	return nil
}

// damaged returns Corrupt for rc if that is alike: the table is not what this package made, so that
// a page of the schema is damaged. Another program may have altered its own.
func (c *conn) damaged(rc, alike int32) int32 {
	if rc == alike && c.layout == own {
		return Corrupt
	}
	return rc
}

// refused is the error for a setting that is not in force although it was asked for.
func refused(name, want, got string) error {
	hint := "SQLite limits the value: ask for the one in force, or leave the option out"
	switch {
	case name == "journal_mode":
		hint = "the file system may lack what WAL needs, or the store is open read-only: use the journal_mode in force"
	case name == creation:
		hint = "it is fixed when a database is created: leave the option out, or copy the data into a new database"
	}
	return &driver.Error{Kind: driver.Unsupported, Err: fmt.Errorf("%s is %s, not %s", name, got, want), Hint: hint}
}

// readOnlyFailure explains why SQLite cannot read a file that it could open: it lacks the files
// -wal and -shm.
func readOnlyFailure(err error) error {
	switch driver.KindOf(err) {
	case driver.NotWritable, driver.NoStore, driver.Permission:
		return &driver.Error{Kind: driver.Permission, Err: fmt.Errorf("the files -wal and -shm cannot be created: %w",
			err),
			Hint: "make the folder writable, or add immutable=true if nobody writes to the database meanwhile"}
	}
	return err
}
