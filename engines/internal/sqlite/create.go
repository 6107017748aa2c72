package sqlite

import (
	"cmp"
	"errors"
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// open opens the first connection, makes an empty database a store and checks the settings in
// force.
func (s *Store) open() error {
	if s.options.Immutable { // then SQLite reads the database alone
		if f := s.unfinished(); f != "" {
			return unfit("open it once where it may be written to, or leave immutable out",
				"%s holds commits: the database was not closed", f)
		}
	}
	c, err := s.connectFirst()
	if err != nil {
		return err
	}
	if err := s.enter(c); err != nil {
		return errors.Join(err, s.giveUp(c))
	}
	c.layout = s.layout
	s.caps = s.capsNow()
	return s.takeBack(c, writer)
}

// prepare turns an empty database into a store, and sets and checks what holds for the database as
// a whole.
func (s *Store) prepare(c *conn) error {
	if !s.readOnly && !c.db.Writable() {
		return &driver.Error{Kind: driver.Permission, Err: errors.New("the file may not be written to"),
			Hint: "change its permissions, or add mode=ro"}
	}
	// All of it is read from one state, under one lock: in DELETE mode every further one might meet
	// the commit of another process, so that opening would have to begin again, and where many
	// commit, again and again.
	if err := s.beginLook(c); err != nil {
		return err
	}
	empty, err := s.look(c)
	if s.readOnly {
		err = readOnlyFailure(err)
	}
	if err := s.inherit(c, s.endLook(c, err)); err != nil {
		return err
	}
	want := cmp.Or(s.options.JournalMode, wal)
	switch {
	case empty && s.readOnly:
		return &driver.Error{Kind: driver.NoStore, Err: errors.New("the database is empty"),
			Hint: "open it once without mode=ro"}
	case empty:
		return s.create(c, want)
	case s.readOnly, s.options.Table != "":
		want = cmp.Or(s.options.JournalMode, s.journal)
	}
	switch {
	case want == s.journal:
		return nil
	case s.readOnly:
		return refused("journal_mode", want, s.journal)
	}
	return s.leaveLog(c, want)
}

// look checks the database as far as that can be done by reading, and learns its journal mode.
func (s *Store) look(c *conn) (empty bool, err error) {
	if s.options.Table != "" {
		err = s.adopt(c)
	} else {
		empty, err = c.isEmpty()
	}
	vacuum, failed := c.text("PRAGMA auto_vacuum")
	s.cutsFile = vacuum == "1" // FULL, which another program may have set
	if err = errors.Join(err, failed); err != nil || empty {
		return empty, err
	}
	if err := errors.Join(c.verify(s.options.given(creation)), s.checkLength(c)); err != nil {
		return false, err
	}
	s.journal, err = c.pragma("journal_mode")
	return false, err
}

// create makes an empty database a store.
func (s *Store) create(c *conn, journal string) error {
	// SQLite: this holds from the first page on, which setting the journal mode writes.
	if err := c.set(s.options.given(creation)); err != nil {
		return err
	}
	if err := s.setJournal(c, journal); err != nil {
		return err
	}
	// Two of three builds of SQLite sync no commit to a log by default. Later ones rest on this.
	if err := errors.Join(c.setLevel(s.levelFor(driver.Synced)), c.exec("BEGIN IMMEDIATE")); err != nil {
		return err
	}
	// Another process may have done it since the database was found empty.
	empty, err := c.isEmpty()
	if err == nil && empty {
		err = errors.Join(c.exec(createTable), c.mark())
	}
	if err == nil {
		err = c.exec("COMMIT")
	}
	return errors.Join(err, c.rollback())
}

// setJournal sets the journal mode. SQLite: a mode that it cannot set is no error, it answers with
// the one in force.
func (s *Store) setJournal(c *conn, want string) error {
	got, err := c.text("PRAGMA journal_mode = " + want)
	if err != nil {
		return err
	}
	if s.journal = strings.ToUpper(got); s.journal != want {
		return refused("journal_mode", want, s.journal)
	}
	_, err = c.text("PRAGMA schema_version") // SQLite: who reads first makes the log
	return err
}
