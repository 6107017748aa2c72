package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/assaydb/assay/kv/driver"
)

// creating makes sure that no store of this process uses a file while createFile still has it open.
// SQLite: closing any descriptor of a file drops all locks that the process has on it.
var creating sync.Mutex

// createFile creates the database as an empty file with its missing parent folders, for this user only, and reports
// whether it did. SQLite would create it for everyone that the umask admits. What is opened as it is must exist.
func (s *Store) createFile() (created bool, err error) {
	creating.Lock()
	defer creating.Unlock()
	info, err := os.Stat(s.path)
	switch {
	case err == nil && info.IsDir():
		return false, &driver.Error{Kind: driver.Invalid, Err: errors.New("it is a folder"), Hint: "name a file"}
	case err == nil || s.readOnly || s.options.Table != "":
		return false, err
	}
	if err := driver.MakeDirs(filepath.Dir(s.path)); err != nil {
		return false, err
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

const (
	applicationID = 0x61737379 // "assy" in the header of the file
	schemaVersion = 1          // user_version
)

// open opens the first connection, makes an empty database a store and checks the settings in force.
func (s *Store) open() error {
	if s.options.Immutable {
		// SQLite: immutable reads the database alone, as if there were no companions.
		if f, err := s.unfinished(); err != nil {
			return err
		} else if f != "" {
			return &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf("%s holds commits: the database was not closed", f),
				Hint: "open it once where it may be written to, or leave immutable out"}
		}
	}
	c, err := s.connect()
	if err != nil {
		return err
	}
	if err := s.prepare(c); err != nil {
		return errors.Join(err, c.close())
	}
	c.layout = s.layout
	s.caps = s.capsNow()
	return s.takeBack(c, writer)
}

// prepare turns an empty database into a store, and sets and checks what holds for the database as a whole.
func (s *Store) prepare(c *conn) error {
	if !s.readOnly && !c.db.Writable() {
		return &driver.Error{Kind: driver.Permission, Err: errors.New("the file may not be written to"),
			Hint: "change its permissions, or add mode=ro"}
	}
	// All of it is read from one state, under one lock: in DELETE mode every further one might meet the commit of another
	// process, so that opening would have to begin again, and where many commit, again and again.
	if err := c.exec("BEGIN"); err != nil {
		return err
	}
	empty, err := s.look(c)
	if s.readOnly {
		err = readOnlyFailure(err)
	}
	if err := errors.Join(err, c.rollback()); err != nil {
		return err
	}
	want := orElse(s.options.JournalMode, wal)
	switch {
	case empty && s.readOnly:
		return &driver.Error{Kind: driver.NoStore, Err: errors.New("the database is empty"), Hint: "open it once without mode=ro"}
	case empty:
		return s.create(c, want)
	case s.readOnly, s.options.Table != "":
		want = orElse(s.options.JournalMode, s.journal)
	}
	switch {
	case want == s.journal:
		return nil
	case s.readOnly:
		return refused("journal_mode", want, s.journal)
	}
	return s.setJournal(c, want)
}

// look checks the database as far as that can be done by reading, and learns its journal mode.
func (s *Store) look(c *conn) (empty bool, err error) {
	if err := c.verify(s.options.given(session...)); err != nil {
		return false, err
	}
	if s.options.Table != "" {
		err = s.adopt(c)
	} else {
		empty, err = c.isEmpty()
	}
	if err != nil || empty {
		return empty, err
	}
	if err := c.verify(s.options.given(creation...)); err != nil {
		return false, err
	}
	if err := s.checkLength(c); err != nil {
		return false, err
	}
	s.journal, err = c.pragma("journal_mode")
	return false, err
}

// isEmpty tells, within a transaction, whether the database is empty or a store. Anything else is an error.
func (c *conn) isEmpty() (bool, error) {
	app, err := c.integer("PRAGMA application_id")
	if err != nil {
		return false, err
	}
	version, err := c.integer("PRAGMA user_version")
	switch {
	case err != nil:
		return false, err
	case app == applicationID && version == schemaVersion:
		return false, nil
	case app == applicationID:
		return false, &driver.Error{Kind: driver.Unsupported, Err: fmt.Errorf("the store has format %d", version),
			Hint: fmt.Sprintf("this program knows format %d: use a newer one", schemaVersion)}
	}
	tables, err := c.tables()
	if err != nil || app == 0 && version == 0 && len(tables) == 0 {
		return true, err
	}
	return false, &driver.Error{Kind: driver.Invalid,
		Err:  fmt.Errorf("the SQLite database of another program: application_id %d, tables %q", app, tables),
		Hint: "name another file, or a table of this one: ?Table=NAME&Key=COLUMN&Value=COLUMN"}
}

func (c *conn) tables() ([]string, error) {
	return c.texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
}

// create makes an empty database a store.
func (s *Store) create(c *conn, journal string) error {
	// SQLite: these hold from the first page on, which setting the journal mode writes.
	asked := s.options.given(creation...)
	for _, p := range asked {
		if err := c.set(p.Name, p.Value); err != nil {
			return err
		}
	}
	if err := s.setJournal(c, journal); err != nil {
		return err
	}
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := c.createTable()
	if err == nil {
		err = c.exec("COMMIT")
	}
	if err := errors.Join(err, c.rollback()); err != nil {
		return err
	}
	return c.verify(asked)
}

// createTable creates and marks the table, unless another process has done so since the database was found empty.
func (c *conn) createTable() error {
	if empty, err := c.isEmpty(); err != nil || !empty {
		return err
	}
	return errors.Join(
		c.exec(createTable),
		c.set("application_id", strconv.Itoa(applicationID)),
		c.set("user_version", strconv.Itoa(schemaVersion)))
}

// setJournal sets the journal mode. SQLite: a mode that it cannot set is no error, it answers with the one in force.
func (s *Store) setJournal(c *conn, want string) error {
	got, err := c.text("PRAGMA journal_mode = " + want)
	if err != nil {
		return err
	}
	if s.journal = strings.ToUpper(got); s.journal != want {
		return refused("journal_mode", want, s.journal)
	}
	return nil
}

// unfinished returns the name of a companion file that holds commits, or "".
func (s *Store) unfinished() (string, error) {
	files, err := s.Files()
	if err != nil {
		return "", err
	}
	for _, f := range files[1:] {
		info, err := os.Stat(f)
		if err == nil && info.Size() > 0 && !strings.HasSuffix(f, "-shm") {
			return f, nil
		}
	}
	return "", nil
}

// checkLength refuses a database that has lost the end of its last page. SQLite: such a page reads as if zeros followed,
// and integrity_check does not notice. While another process extends the file it may have such a length, and a companion
// file that holds commits; the second look is for one that was done in between.
func (s *Store) checkLength(c *conn) error {
	size, err := c.integer("PRAGMA page_size")
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		info, err := os.Stat(s.path)
		if err != nil || info.Size()%size == 0 {
			return err
		}
		if f, err := s.unfinished(); f != "" || err != nil {
			return err
		}
		if try == 1 {
			return &driver.Error{Kind: driver.Corrupt, Hint: hints[driver.Corrupt],
				Err: fmt.Errorf("the file has %d bytes, which is not a multiple of its page size %d", info.Size(), size)}
		}
	}
}
