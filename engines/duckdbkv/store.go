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
	_ driver.Store      = (*store)(nil)
	_ driver.Compacter  = (*store)(nil)
	_ driver.Filer      = (*store)(nil)
	_ driver.Configured = (*store)(nil)
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

// Settings tells DuckDB's version and the options in force.
func (s *store) Settings() []driver.Setting {
	var list []driver.Setting
	ctx := context.Background()
	c, err := s.lend(ctx)
	if err != nil {
		return nil
	}
	defer s.takeBack(c)
	read := func(name, text string) {
		var value string
		if err := c.QueryRowContext(ctx, text).Scan(&value); err == nil {
			list = append(list, driver.Setting{Name: name, Value: value})
		}
	}
	read("duckdb_version", "SELECT version()")
	for _, o := range table {
		read(o.Name, "SELECT current_setting('"+o.Name+"')::VARCHAR")
	}
	return list
}

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

// Apply commits ops as one transaction. Of the operations on one key the last counts: DuckDB refuses a statement that
// writes a row twice.
func (s *store) Apply(ctx context.Context, ops []driver.Op, _ driver.Durability) error {
	c, err := s.begin(ctx)
	if err != nil {
		return driver.NotDone(err)
	}
	defer s.takeBack(c)
	last := make(map[string]int, len(ops))
	for i := range ops {
		last[string(ops[i].Key)] = i
	}
	puts := make([]driver.Op, 0, len(last))
	for i := range ops {
		switch {
		case last[string(ops[i].Key)] != i:
		case ops[i].Delete:
			err = c.run(ctx, deleteOne, ops[i].Key)
		default:
			puts = append(puts, ops[i])
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = c.put(ctx, puts)
	}
	if err != nil {
		return driver.NotDone(errors.Join(err, c.run(context.Background(), rollback)))
	}
	return c.run(context.Background(), commit)
}

// alone runs a statement on a connection of its own, outside of a transaction.
func (s *store) alone(ctx context.Context, texts ...string) error {
	c, err := s.lend(ctx)
	if err != nil {
		return err
	}
	defer s.takeBack(c)
	for _, text := range texts {
		if _, err := c.ExecContext(ctx, text); err != nil {
			return classify(err)
		}
	}
	return nil
}

// Compact writes the log into the database, which gives free blocks at its end back. DuckDB: beside a transaction that
// still sees an earlier state it cannot, and the next commit or Close does it.
func (s *store) Compact(ctx context.Context) error {
	err := s.alone(ctx, "CHECKPOINT store")
	if err != nil && strings.Contains(err.Error(), "other write transactions active") {
		return nil
	}
	return err
}

// Files lists the database and its log, if it has one now.
func (s *store) Files() ([]string, error) {
	files := []string{s.path}
	_, err := os.Stat(s.path + ".wal")
	switch {
	case err == nil:
		files = append(files, s.path+".wal")
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return files, nil
}

// Close writes the log into the database and closes it.
func (s *store) Close() error {
	defer unclaim(s.path)
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
