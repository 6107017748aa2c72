package duckdbkv

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open database.
type store struct {
	db   *sql.DB
	path string

	mu   sync.Mutex
	idle []*conn
}

var (
	_ driver.Store     = (*store)(nil)
	_ driver.Compacter = (*store)(nil)
	_ driver.Filer     = (*store)(nil)
)

// lend returns a connection that nobody uses.
func (s *store) lend(ctx context.Context) (*conn, error) {
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return c, nil
	}
	s.mu.Unlock()
	c, err := s.db.Conn(ctx)
	if err != nil {
		return nil, classify(err)
	}
	return &conn{Conn: c, prepared: map[string]*sql.Stmt{}}, nil
}

func (s *store) takeBack(c *conn) {
	s.mu.Lock()
	s.idle = append(s.idle, c)
	s.mu.Unlock()
}

// Caps tells what a store can do.
func (s *store) Caps() driver.Caps { return caps }

// Snapshot returns a view of the last committed state.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	c, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	return &reader{s: s, c: c}, nil
}

// Begin starts a transaction.
func (s *store) Begin(ctx context.Context, _ driver.Durability) (driver.Txn, error) {
	c, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	return &txn{reader: reader{s: s, c: c}}, nil
}

// begin lends a connection with a transaction that sees the last committed state.
func (s *store) begin(ctx context.Context) (*conn, error) {
	c, err := s.lend(ctx)
	if err != nil {
		return nil, err
	}
	if err = c.run(ctx, begin); err == nil {
		if err = c.run(ctx, pin); err != nil {
			err = errors.Join(err, c.run(context.Background(), rollback))
		}
	}
	if err != nil {
		s.takeBack(c)
		return nil, err
	}
	return c, nil
}

// Compact writes the log into the database, which gives free blocks at its end back. DuckDB: beside
// a transaction that still sees an earlier state it cannot, and the next commit or Close does it.
func (s *store) Compact(ctx context.Context) error {
	c, err := s.lend(ctx)
	if err != nil {
		return err
	}
	defer s.takeBack(c)
	_, err = c.ExecContext(ctx, "CHECKPOINT store")
	if err != nil && strings.Contains(err.Error(), "other write transactions active") {
		return nil
	}
	return classify(err)
}

// Files lists the database and its log, if it has one now.
func (s *store) Files() ([]string, error) {
	files := []string{s.path}
	if _, err := os.Stat(s.path + ".wal"); err == nil {
		files = append(files, s.path+".wal")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return files, nil
}

// Close writes the log into the database and closes it.
func (s *store) Close() error {
	defer disclaim(s.path)
	return classify(s.shut())
}

func (s *store) shut() error {
	var errs []error
	for _, c := range s.idle {
		errs = append(errs, c.close())
	}
	s.idle = nil
	return errors.Join(append(errs, s.db.Close())...)
}
