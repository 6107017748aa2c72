package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// Store is an open database. Its connections are lent to one Snapshot or transaction at a time; more are opened on
// demand, without a limit, because a View inside a View would wait for itself.
type Store struct {
	lib     *Library
	path    string // absolute
	options options
	journal string // in force
	caps    driver.Caps

	mu     sync.Mutex
	writer *conn   // the idle connection that wrote last; its cache is the one that commits do not empty
	idle   []*conn // other idle connections, the last used at the end
}

var _ driver.Store = (*Store)(nil)

// maxIdle is how many connections besides the writer's are kept for later.
const maxIdle = 16

// open opens the first connection, makes an empty database a store and checks the settings in force.
func (s *Store) open() error {
	if s.options.immutable {
		// SQLite: immutable reads the database alone, as if there were no companions.
		if f, err := s.unfinished(); err != nil {
			return err
		} else if f != "" {
			return &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf("%s holds commits: the database was not closed", f),
				Hint: "open it once where it may be written to, or leave immutable out"}
		}
	}
	c, err := connect(s.lib, s.path, &s.options)
	if err != nil {
		if info, serr := os.Stat(s.path); serr == nil && info.IsDir() {
			return &driver.Error{Kind: driver.Invalid, Err: errors.New("it is a folder"), Hint: "name a file"}
		}
		return err
	}
	if err := s.prepare(c); err != nil {
		return errors.Join(err, c.close())
	}
	s.caps = s.lib.capsOf(s.journal, s.options.synchronous)
	s.writer = c
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

// prepare turns an empty database into a store, and sets and checks what holds for the database as a whole.
func (s *Store) prepare(c *conn) error {
	if !s.options.readOnly && !c.db.Writable() {
		return &driver.Error{Kind: driver.Permission, Err: errors.New("the file may not be written to"),
			Hint: "change its permissions, or add mode=ro"}
	}
	found, err := s.look(c)
	switch {
	case err != nil:
		return err
	case found == stateEmpty && s.options.readOnly:
		return &driver.Error{Kind: driver.NoStore, Err: errors.New("the database is empty"), Hint: "open it once without mode=ro"}
	case found == stateEmpty:
		if err := s.create(c); err != nil {
			return err
		}
		return c.verify(s.options.creation)
	case s.options.readOnly || s.journal == s.options.wantedJournal():
		return nil
	}
	return s.setJournal(c)
}

// look checks the database as far as that can be done by reading, and learns its journal mode. All of it is read from one
// state, under one lock: in DELETE mode every further one might meet the commit of another process, so that opening
// would have to begin again, and where many commit, again and again.
func (s *Store) look(c *conn) (found state, err error) {
	if err := c.reader.tryPin(); err != nil {
		return 0, s.lookFailure(err)
	}
	defer c.reader.unpin()
	if err := c.verify(s.options.session); err != nil {
		return 0, err
	}
	if found, err = c.identify(); err != nil || found == stateEmpty {
		return found, s.lookFailure(err)
	}
	if err := c.verify(s.options.creation); err != nil {
		return 0, err
	}
	if err := s.checkLength(c); err != nil {
		return 0, err
	}
	return found, s.readJournal(c)
}

func (s *Store) lookFailure(err error) error {
	if err != nil && s.options.readOnly {
		return readOnlyFailure(err)
	}
	return err
}

// checkLength refuses a database that has lost the end of its last page. SQLite: such a page reads as if zeros followed,
// and integrity_check does not notice. While another process extends the file it may have such a length for a moment;
// if one died meanwhile, what it wrote is in a companion file.
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
		if try == 10 {
			return &driver.Error{Kind: driver.Corrupt, Hint: hints[driver.Corrupt],
				Err: fmt.Errorf("the file has %d bytes, which is not a multiple of its page size %d", info.Size(), size)}
		}
		time.Sleep(time.Millisecond)
	}
}

// readOnlyFailure explains why SQLite cannot read a file that it could open: it lacks the files -wal and -shm.
func readOnlyFailure(err error) error {
	switch driver.KindOf(err) {
	case driver.NotWritable, driver.NoStore, driver.Permission:
		return &driver.Error{Kind: driver.Permission, Err: fmt.Errorf("the files -wal and -shm cannot be created: %w", err),
			Hint: "make the folder writable, or add immutable=true if nobody writes to the database meanwhile"}
	}
	return err
}

// readJournal learns the journal mode of the database, which a store that is read-only cannot change.
func (s *Store) readJournal(c *conn) error {
	got, err := c.text("PRAGMA journal_mode")
	if err != nil {
		return err
	}
	s.journal = strings.ToUpper(got)
	if s.options.readOnly && s.options.journal != "" && s.options.journal != s.journal {
		return refused("journal_mode", s.options.journal, s.journal)
	}
	return nil
}

// setJournal sets the journal mode. SQLite: a mode that it cannot set is no error, it answers with the one in force.
func (s *Store) setJournal(c *conn) error {
	want := s.options.wantedJournal()
	got, err := c.text("PRAGMA journal_mode = " + want)
	if err != nil {
		return err
	}
	if s.journal = strings.ToUpper(got); s.journal != want {
		return refused("journal_mode", want, s.journal)
	}
	return nil
}

// Caps tells what the database delivers in its journal mode.
func (s *Store) Caps() driver.Caps { return s.caps }

// Snapshot returns a view of the last committed state.
func (s *Store) Snapshot(context.Context) (driver.Reader, error) {
	w := waiter{limit: s.options.busy}
	c, err := s.forReading(&w)
	if err != nil {
		return nil, err
	}
	if err := c.reader.pin(&w); err != nil {
		s.release(c)
		return nil, err
	}
	c.reader.s = s
	return &c.reader, nil
}

// Begin starts a transaction. It waits for other processes until ctx ends or busy_timeout has passed.
func (s *Store) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	w := waiter{ctx: ctx, limit: s.options.busy}
	c, err := s.forWriting(&w, d)
	if err != nil {
		return nil, err
	}
	if err := c.run(&w, kindBegin, nil, nil); err != nil {
		s.releaseWriter(c)
		return nil, err
	}
	c.txn = txn{reader: reader{c: c, s: s}}
	return &c.txn, nil
}

// Apply commits ops as one transaction.
func (s *Store) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	w := waiter{ctx: ctx, limit: s.options.busy}
	c, err := s.forWriting(&w, d)
	if err != nil {
		return err
	}
	err = c.apply(&w, s.journal, ops)
	return errors.Join(err, s.releaseWriter(c))
}

// forReading lends a connection for reading: another one than the writer's if there is one.
func (s *Store) forReading(w *waiter) (*conn, error) {
	s.mu.Lock()
	c := s.popIdle()
	if c == nil {
		c, s.writer = s.writer, nil
	}
	s.mu.Unlock()
	if c != nil {
		return c, nil
	}
	return s.connectWaiting(w)
}

// forWriting lends a connection whose commits are of class d: the one that wrote last if it is idle.
func (s *Store) forWriting(w *waiter, d driver.Durability) (*conn, error) {
	if !s.caps.Promise(d).Supported {
		return nil, &driver.Error{Kind: driver.Unsupported, Err: errors.New("the store does not deliver " + d.String()),
			Hint: "open it with another value of synchronous"}
	}
	s.mu.Lock()
	c := s.writer
	if s.writer = nil; c == nil {
		c = s.popIdle()
	}
	s.mu.Unlock()
	var err error
	if c == nil {
		if c, err = s.connectWaiting(w); err != nil {
			return nil, err
		}
	}
	l := levelFor(s.journal, s.options.synchronous, d)
	for {
		if err = c.setLevel(l); err == nil {
			return c, nil
		}
		if driver.KindOf(err) != driver.Busy || !w.wait() {
			s.release(c)
			return nil, w.failure(err)
		}
	}
}

// popIdle takes an idle connection, or nil. The caller holds s.mu.
func (s *Store) popIdle() *conn {
	n := len(s.idle)
	if n == 0 {
		return nil
	}
	c := s.idle[n-1]
	s.idle = s.idle[:n-1]
	return c
}

// connectWaiting opens a further connection. SQLite: setting a pragma reads the schema, for which it may have to wait.
func (s *Store) connectWaiting(w *waiter) (*conn, error) {
	for {
		c, err := connect(s.lib, s.path, &s.options)
		if err == nil {
			return c, nil
		}
		if driver.KindOf(err) != driver.Busy || !w.wait() {
			return nil, w.failure(err)
		}
	}
}

// release takes back a connection that was lent for reading.
func (s *Store) release(c *conn) error {
	s.mu.Lock()
	if len(s.idle) < maxIdle {
		s.idle = append(s.idle, c)
		c = nil
	}
	s.mu.Unlock()
	if c != nil {
		return c.close()
	}
	return nil
}

// releaseWriter takes back a connection that was lent for writing, and rolls back what is not committed. A connection
// that cannot roll back is closed, which does.
func (s *Store) releaseWriter(c *conn) error {
	if err := c.rollback(); err != nil {
		return errors.Join(err, c.close())
	}
	s.mu.Lock()
	if s.writer == nil {
		s.writer, c = c, nil
	}
	s.mu.Unlock()
	if c != nil {
		return s.release(c)
	}
	return nil
}

// Close closes all connections. In WAL mode the last one of all processes copies the log into the database, synced
// unless synchronous=OFF, and removes the companion files.
func (s *Store) Close() error { return s.closeIdle() }

func (s *Store) closeIdle() error {
	s.mu.Lock()
	conns := s.idle
	if s.writer != nil {
		conns = append(conns, s.writer)
	}
	s.idle, s.writer = nil, nil
	s.mu.Unlock()
	var errs []error
	for _, c := range conns {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}
