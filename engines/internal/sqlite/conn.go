package sqlite

import (
	"context"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// kind is a statement that a connection has at most one of.
type kind uint8

const (
	kindBegin kind = iota
	kindCommit
	kindPin
	kindGet
	kindPut
	kindDelete
	kinds
)

var statements = [kinds]string{
	kindBegin:  "BEGIN IMMEDIATE",
	kindCommit: "COMMIT",
	// SQLite: a read transaction lasts as long as one reading statement of the connection does. This one always has a
	// row, the table kv's, so stepping it once opens a snapshot and resetting it ends it.
	kindPin:    "SELECT 1 FROM sqlite_schema",
	kindGet:    "SELECT v FROM kv WHERE k = ?1",
	kindPut:    "INSERT INTO kv(k, v) VALUES(?1, ?2) ON CONFLICT(k) DO UPDATE SET v = excluded.v",
	kindDelete: "DELETE FROM kv WHERE k = ?1",
}

// conn is one connection with its statements. It is used by one goroutine at a time.
type conn struct {
	db    Conn
	level level // the value of synchronous in force

	stmts   [kinds]Stmt // prepared on first use, nil before
	cursors [shapes]*cursor

	reader reader // lent by Snapshot
	txn    txn    // lent by Begin
}

// connect opens a connection and applies the session's settings. It waits for no lock.
func connect(lib *Library, path string, o *options) (*conn, error) {
	flags := int32(openReadWrite | openNoMutex)
	if o.readOnly {
		flags = openReadOnly | openNoMutex
	}
	if o.immutable {
		flags |= openURI
		path = immutableURI(path)
	}
	db, err := lib.Open(path, flags)
	if err != nil {
		return nil, err
	}
	c := &conn{db: db, level: levelFull}
	if lib.LevelVaries {
		c.level = levelUnknown
	}
	c.reader.c, c.txn.c = c, c
	for _, p := range o.session {
		if err := c.set(p); err != nil {
			c.close()
			return nil, err
		}
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

// close ends the connection. SQLite: the last one of a database checkpoints the log and removes the companion files.
func (c *conn) close() error {
	for k, s := range c.stmts {
		if s != nil {
			s.Finalize()
			c.stmts[k] = nil
		}
	}
	for shape := range c.cursors {
		for cur := c.cursors[shape]; cur != nil; cur = cur.next {
			cur.stmt.Finalize()
		}
		c.cursors[shape] = nil
	}
	return c.db.Close()
}

// set gives a pragma its value. SQLite: one that it cannot take is no error, so verify reads it back.
func (c *conn) set(p pragma) error { return c.exec("PRAGMA " + p.name + " = " + p.value) }

// verify reads back what was asked for.
func (c *conn) verify(asked []pragma) error {
	for _, p := range asked {
		got, err := c.text("PRAGMA " + p.name)
		if err != nil {
			return err
		}
		if got != p.value {
			return refused(p.name, p.value, got)
		}
	}
	return nil
}

// setLevel makes l the value of synchronous. SQLite: it is fixed once a transaction has begun.
func (c *conn) setLevel(l level) error {
	if c.level == l {
		return nil
	}
	if err := c.exec("PRAGMA synchronous = " + l.String()); err != nil {
		return err
	}
	c.level = l
	return nil
}

// inTransaction reports whether a transaction is open. SQLite ends some by itself, on a full disk for one.
func (c *conn) inTransaction() bool { return !c.db.Autocommit() }

// rollback ends the transaction that is open, if one is.
func (c *conn) rollback() error {
	if !c.inTransaction() {
		return nil
	}
	return c.exec("ROLLBACK")
}

// exec runs one statement of the program's own and drops its rows.
func (c *conn) exec(sql string) error {
	_, err := c.texts(sql)
	return err
}

// text returns what the one row of sql holds.
func (c *conn) text(sql string) (string, error) {
	rows, err := c.texts(sql)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0], nil
}

// integer returns the number that the one row of sql holds.
func (c *conn) integer(sql string) (int64, error) {
	text, err := c.text(sql)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// texts runs one statement and returns the first column of its rows. It waits for no lock.
func (c *conn) texts(sql string) ([]string, error) {
	s, rc := c.db.Prepare(sql, false)
	if rc != OK {
		return nil, c.db.Failure(rc)
	}
	var rows []string
	for rc = s.Step(); rc == Row; rc = s.Step() {
		text, _ := s.Column(0) // SQLite: numbers come as text
		rows = append(rows, string(text))
	}
	var err error
	if rc != Done {
		rows, err = nil, c.db.Failure(rc)
	}
	s.Finalize()
	return rows, err
}

// textsWaiting is texts, waiting for locks of others.
func (c *conn) textsWaiting(w *waiter, sql string) ([]string, error) {
	for {
		rows, err := c.texts(sql)
		if err == nil || driver.KindOf(err) != driver.Busy {
			return rows, err
		}
		if !w.wait() {
			return nil, w.failure(err)
		}
	}
}

// step binds key and value, steps the statement of kind k once, and returns it with the result. The caller resets it,
// unless it could not be prepared and is nil.
func (c *conn) step(k kind, key, value []byte) (Stmt, int32) {
	s := c.stmts[k]
	if s == nil {
		var rc int32
		if s, rc = c.db.Prepare(statements[k], true); rc != OK {
			return nil, rc
		}
		c.stmts[k] = s
	}
	if key != nil {
		if rc := s.Bind(key, value); rc != OK {
			return s, rc
		}
	}
	return s, s.Step()
}

// try runs the statement of kind k, which yields no rows, and waits for no lock.
func (c *conn) try(k kind, key, value []byte) int32 {
	s, rc := c.step(k, key, value)
	if s != nil {
		s.Reset()
	}
	return rc
}

// run is try, waiting for the locks of others.
func (c *conn) run(w *waiter, k kind, key, value []byte) error {
	for {
		rc := c.try(k, key, value)
		if rc == Done {
			return nil
		}
		if !busy(rc) || !w.wait() {
			return w.failure(c.db.Failure(rc))
		}
	}
}

// Interrupting is [Conn.Interruptible] by a call that interrupts the connection from another goroutine. SQLite forgets
// an interrupt that comes before the statement has begun; therefore it is repeated until fn returns.
func Interrupting(ctx context.Context, interrupt func(), fn func() error) error {
	if ctx.Done() == nil {
		return fn()
	}
	returned, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-returned:
			return
		case <-ctx.Done():
		}
		again := time.NewTicker(time.Millisecond)
		defer again.Stop()
		for {
			interrupt()
			select {
			case <-returned:
				return
			case <-again.C:
			}
		}
	}()
	err := fn()
	close(returned)
	<-ended // before the connection can be closed
	return err
}
