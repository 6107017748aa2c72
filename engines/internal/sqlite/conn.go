package sqlite

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"
)

// conn is one connection with its statements. It is used by one goroutine at a time.
type conn struct {
	db     Conn
	layout layout
	level  string // the value of synchronous in force, "" if that is not known

	covers  bool // the commit that comes is synced
	written int  // then, how many pages were written before it

	doubt bool // the last commit failed so that nobody knows whether it is there
	late  bool // opened behind the first one, and has not written yet
	fresh bool // the same, and has not copied the log yet

	idle [kinds]*statement // prepared on first use

	reader reader // lent by Snapshot
	txn    txn    // lent by Begin
}

// connect opens a connection and applies the session's settings.
func (s *Store) connect() (*conn, error) {
	path, flags := s.path, int32(openReadWrite|openNoMutex)
	if s.readOnly {
		flags = openReadOnly | openNoMutex
	}
	if s.options.Immutable {
		flags |= openURI
		path = immutableURI(path)
	}
	db, err := s.lib.Connect(path, flags, s.onSync)
	if err != nil {
		return nil, err
	}
	s.guard(db)
	c := &conn{db: db, layout: s.layout, late: s.log.told != nil, fresh: s.log.told != nil}
	c.reader = reader{c: c, s: s}
	c.txn = txn{reader: c.reader}
	if err := errors.Join(c.set(s.options.given(session...)), c.set(fullSync)); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func immutableURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // file:///C:/dir/name
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: "immutable=1"}).String()
}

// close ends the connection. SQLite: the last one of a database checkpoints the log and removes the
// companion files.
func (c *conn) close() error {
	for _, s := range c.idle {
		for ; s != nil; s = s.next {
			s.Finalize()
		}
	}
	return c.db.Close()
}

// setLevel makes level the value of synchronous. SQLite: it is fixed once a transaction has begun.
func (c *conn) setLevel(level string) error {
	if c.level == level {
		return nil
	}
	if err := c.exec("PRAGMA synchronous = " + level); err != nil {
		return err
	}
	c.level = level
	return nil
}

// rollback ends the transaction that is open, if one is.
func (c *conn) rollback() error {
	if c.db.Autocommit() {
		return nil
	}
	return c.exec("ROLLBACK")
}

// exec runs statements of the program's own, up to the first that fails, and drops their rows.
func (c *conn) exec(statements ...string) error {
	for _, sql := range statements {
		if _, err := c.texts(sql); err != nil {
			return err
		}
	}
	return nil
}

// text returns what the one row of sql holds, "" if there is none.
func (c *conn) text(sql string) (string, error) {
	rows, err := c.texts(sql)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0], nil
}

// texts runs one statement and returns the first column of its rows.
func (c *conn) texts(sql string) ([]string, error) {
	s, rc := c.db.Prepare(sql, 0)
	if rc != OK {
		return nil, c.db.Failure(rc)
	}
	defer s.Finalize()
	var rows []string
	for {
		text, _, rc := s.Step(1) // SQLite: numbers come as text
		switch rc {
		case Row:
			rows = append(rows, string(text))
		case Done, CheckpointDue:
			return rows, nil
		default:
			return nil, c.db.Failure(rc)
		}
	}
}
