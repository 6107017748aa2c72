package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/assaydb/assay/kv/driver"
)

// creating makes sure that no store of this process uses a file while createFile still has it open.
// SQLite: closing any descriptor of a file drops all locks that the process has on it.
var creating sync.Mutex

// createFile creates the database as an empty file with its missing parent folders, for this user only, and reports
// whether it did. SQLite would create it for everyone that the umask admits. Read-only, a missing file is Missing.
func createFile(path string, readOnly bool) (created bool, err error) {
	creating.Lock()
	defer creating.Unlock()
	if readOnly {
		_, err := os.Stat(path)
		return false, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := driver.MakeDirs(filepath.Dir(path)); err != nil {
			return false, err
		}
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	switch {
	case err == nil:
		return true, f.Close()
	case errors.Is(err, fs.ErrExist):
		return false, nil
	}
	if _, missing := os.Stat(path); missing == nil {
		return false, nil // a read-only file system refuses O_CREATE for files that exist, too
	}
	return false, err
}

const (
	applicationID = 0x61737379 // "assy" in the header of the file
	schemaVersion = 1          // user_version
)

const createTable = "CREATE TABLE kv(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID"

// state is what a database turns out to be.
type state uint8

const (
	stateOurs state = iota
	stateEmpty
)

// identify tells whether the database is a store or empty. Anything else is an error.
func (c *conn) identify() (state, error) {
	app, err := c.integer("PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	if app == applicationID {
		return stateOurs, c.checkVersion()
	}
	if c.inTransaction() {
		return c.examine()
	}
	// Another process may be creating the store: all that follows must be read from one state.
	if err := c.exec("BEGIN"); err != nil {
		return 0, err
	}
	found, err := c.examine()
	if rerr := c.rollback(); err == nil {
		err = rerr
	}
	return found, err
}

// examine is identify within a transaction.
func (c *conn) examine() (state, error) {
	app, err := c.integer("PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	if app == applicationID {
		return stateOurs, c.checkVersion()
	}
	version, err := c.integer("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	tables, err := c.texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	switch {
	case err != nil:
		return 0, err
	case app == 0 && version == 0 && len(tables) == 0:
		return stateEmpty, nil
	}
	return 0, &driver.Error{Kind: driver.Invalid,
		Err:  fmt.Errorf("the SQLite database of another program: application_id %d, tables %q", app, tables),
		Hint: "name another file"}
}

// checkVersion refuses a store of a later format.
func (c *conn) checkVersion() error {
	version, err := c.integer("PRAGMA user_version")
	if err != nil || version == schemaVersion {
		return err
	}
	return &driver.Error{Kind: driver.Unsupported, Err: fmt.Errorf("the store has format %d", version),
		Hint: fmt.Sprintf("this program knows format %d: use a newer one", schemaVersion)}
}

// create makes an empty database a store.
func (s *Store) create(c *conn) error {
	// SQLite: these hold from the first page on, which setting the journal mode writes.
	for _, p := range s.options.creation {
		if err := c.set(p); err != nil {
			return err
		}
	}
	if err := s.setJournal(c); err != nil {
		return err
	}
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := c.createTable()
	if err == nil {
		err = c.exec("COMMIT")
	}
	if err != nil {
		return errors.Join(err, c.rollback())
	}
	return nil
}

// createTable creates and marks the table, unless another process has done so since the database was found empty.
func (c *conn) createTable() error {
	if found, err := c.identify(); err != nil || found != stateEmpty {
		return err
	}
	if err := c.exec(createTable); err != nil {
		return err
	}
	if err := c.set(pragma{"application_id", strconv.Itoa(applicationID)}); err != nil {
		return err
	}
	return c.set(pragma{"user_version", strconv.Itoa(schemaVersion)})
}
