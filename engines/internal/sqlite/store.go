package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/assaydb/assay/kv/driver"
)

// Store is an open database. Its connections are lent to one Snapshot or transaction at a time;
// more are opened on demand, without a limit, because a View inside a View would wait for itself.
type Store struct {
	lib      *Library
	path     string // absolute, of the file itself: SQLite's companions stand beside it, not beside a link
	readOnly bool
	options  Options
	layout   layout
	journal  string // in force
	cutsFile bool   // at each commit that frees its end, see Compact
	caps     driver.Caps
	log      logState
	onSync   driver.OnSync
	looked   func() error // ends a look at the database

	mu     sync.Mutex
	idle   [2][]*conn // by role; the last used at the end
	others others
}

var (
	_ driver.Compacter  = (*Store)(nil)
	_ driver.Checker    = (*Store)(nil)
	_ driver.Backuper   = (*Store)(nil)
	_ driver.Configured = (*Store)(nil)
)

// role is what a connection was lent for last. The writer's cache is the one that commits do not
// empty.
type role uint8

const (
	readers role = iota
	writer
)

// maxIdle is how many connections of each role are kept for later.
const maxIdle = 16

// lend lends a connection, of its role if there is one. SQLite: opening one may meet a lock, as it
// reads the schema.
func (s *Store) lend(r role) (*conn, error) {
	s.mu.Lock()
	for _, r := range [2]role{r, readers + writer - r} {
		if n := len(s.idle[r]); n > 0 {
			c := s.idle[r][n-1]
			s.idle[r] = s.idle[r][:n-1]
			s.mu.Unlock()
			return c, nil
		}
	}
	s.mu.Unlock()
	return s.connect()
}

func (s *Store) takeBack(c *conn, r role) error {
	s.mu.Lock()
	keep := len(s.idle[r]) < maxIdle
	if keep {
		s.idle[r] = append(s.idle[r], c)
	}
	s.mu.Unlock()
	if keep {
		return nil
	}
	return c.close()
}

// writerAt lends a connection whose commits run under a value of synchronous.
func (s *Store) writerAt(level string) (*conn, error) {
	c, err := s.lend(writer)
	if err != nil {
		return nil, err
	}
	if s.missed(c) || s.log.hole {
		if err := s.mend(c); err != nil {
			return nil, errors.Join(err, s.takeBack(c, writer))
		}
	}
	s.writes(c)
	if err := c.setLevel(level); err != nil {
		return nil, errors.Join(err, s.takeBack(c, writer))
	}
	return c, nil
}

// endWriting takes back a connection that was lent for writing, and rolls back what is not
// committed. One that cannot is closed, which does.
func (s *Store) endWriting(c *conn) error {
	doubt := c.doubt
	c.doubt = false
	err := c.rollback()
	if err != nil {
		s.log.hole = s.log.hole || doubt
		return errors.Join(err, c.drop())
	}
	if doubt {
		err = s.mend(c)
	}
	return errors.Join(err, s.takeBack(c, writer))
}

// Caps tells what the database delivers in its journal mode.
func (s *Store) Caps() driver.Caps { return s.caps }

// Snapshot returns a view of the last committed state.
func (s *Store) Snapshot(context.Context) (driver.Reader, error) {
	c, err := s.lend(readers)
	if err != nil {
		return nil, s.abandoned(err)
	}
	if err := c.reader.pin(); err != nil {
		return nil, errors.Join(s.abandoned(err), s.takeBack(c, readers))
	}
	return &c.reader, nil
}

// Get reads with one statement, which is a snapshot of its own.
func (s *Store) Get(_ context.Context, dst, key []byte) ([]byte, error) {
	c, err := s.lend(readers)
	if err != nil {
		return dst, s.abandoned(err)
	}
	v, err := c.reader.Get(dst, key)
	if cerr := s.takeBack(c, readers); cerr != nil {
		return dst, cerr
	}
	return v, s.abandoned(err)
}

// Close closes all connections. In WAL mode the last one of all processes copies the log into the
// database, synced unless synchronous=OFF, and removes the companion files.
func (s *Store) Close() error {
	conns := slices.Concat(s.idle[writer], s.idle[readers])
	s.closeLog(conns)
	var err error
	for _, c := range conns {
		err = errors.Join(err, c.close())
	}
	return errors.Join(err, s.log.leave(), s.looked())
}
