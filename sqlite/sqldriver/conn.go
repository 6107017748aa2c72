//go:build cgo

package sqldriver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/sqlite"
)

// conn is a connection of a pool.
type conn struct {
	*sqlite.Conn
	o    *Options
	dead bool // it must not be used again
}

var (
	_ driver.Conn               = (*conn)(nil)
	_ driver.ConnPrepareContext = (*conn)(nil)
	_ driver.ConnBeginTx        = (*conn)(nil)
	_ driver.ExecerContext      = (*conn)(nil)
	_ driver.QueryerContext     = (*conn)(nil)
	_ driver.Pinger             = (*conn)(nil)
	_ driver.SessionResetter    = (*conn)(nil)
	_ driver.Validator          = (*conn)(nil)
)

// plain returns the end of a context as it is, as database/sql does.
func plain(ctx context.Context, err error) error {
	if err != nil && errors.Is(err, kv.Canceled) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Prepare implements [driver.Conn].
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext implements [driver.ConnPrepareContext]. A text of several statements is an error;
// an empty one is a statement that does nothing.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, rest, err := c.PrepareFirst(ctx, query)
	if err != nil {
		return nil, plain(ctx, err)
	}
	if s == nil {
		return &nothing{}, nil
	}
	more, _, err := c.PrepareFirst(ctx, rest)
	if more != nil || err != nil {
		if more != nil {
			err = &kv.Error{Op: "prepare", Engine: Name, Kind: kv.Invalid, Err: fmt.Errorf("several statements in %q", query),
				Hint: "prepare each by itself, or run them by Exec"}
			_ = more.Close()
		}
		_ = s.Close()
		return nil, plain(ctx, err)
	}
	return newStmt(c, s), nil
}

// ExecContext implements [driver.ExecerContext]: it runs the statements of a text in turn, each of
// which takes its positional arguments from what those before left.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	var r result
	err := c.each(ctx, query, args, func(s *stmt, args []driver.NamedValue, _ bool) error {
		defer s.Close()
		one, err := s.exec(ctx, args)
		if err == nil && !s.readOnly {
			r = one
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// QueryContext implements [driver.QueryerContext]: the rows are the last statement's.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	var rows driver.Rows = &noRows{}
	err := c.each(ctx, query, args, func(s *stmt, args []driver.NamedValue, last bool) error {
		if !last {
			defer s.Close()
			_, err := s.exec(ctx, args)
			return err
		}
		r, err := s.query(ctx, args)
		if err != nil {
			_ = s.Close()
			return err
		}
		r.owned = true
		rows = r
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// each prepares the statements of a text in turn, and has fn run and close each of them.
func (c *conn) each(ctx context.Context, query string, args []driver.NamedValue,
	fn func(s *stmt, args []driver.NamedValue, last bool) error) error {
	all := args
	for {
		p, rest, err := c.PrepareFirst(ctx, query)
		if err != nil {
			return plain(ctx, err)
		}
		if p == nil {
			break
		}
		s, query2 := newStmt(c, p), rest
		mine, left := s.take(args)
		last := isBlank(query2)
		if last && slices.ContainsFunc(left, func(a driver.NamedValue) bool { return a.Name == "" }) {
			return errors.Join(tooMany(len(all)-len(left), len(all)), s.Close())
		}
		if err := fn(s, mine, last); err != nil {
			return err
		}
		if last {
			break
		}
		args, query = left, query2
	}
	return nil
}

func tooMany(want, got int) error {
	return &kv.Error{Op: "run", Engine: Name, Kind: kv.Invalid, Err: fmt.Errorf("%d arguments for %d parameters", got, want)}
}

// BeginTx implements [driver.ConnBeginTx]. One that is read-only begins deferred, and cannot write.
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	switch sql.IsolationLevel(o.Isolation) {
	case sql.LevelDefault, sql.LevelSerializable, sql.LevelSnapshot:
	default:
		return nil, &kv.Error{Op: "begin", Engine: Name, Kind: kv.Unsupported,
			Err: fmt.Errorf("isolation level %v", sql.IsolationLevel(o.Isolation)), Hint: "SQLite's transactions are serializable"}
	}
	kind := c.o.Begin
	if o.ReadOnly {
		kind = sqlite.Deferred
	}
	if err := c.Conn.Begin(ctx, kind); err != nil {
		return nil, plain(ctx, err)
	}
	t := &tx{c: c}
	if !o.ReadOnly {
		return t, nil
	}
	already, err := c.queryOnly(ctx) // by the name of the database, a PRAGMA, a policy
	if t.readOnly = err == nil && !already; t.readOnly {
		err = c.Exec(ctx, "PRAGMA query_only = on")
	}
	if err != nil {
		return nil, errors.Join(plain(ctx, err), t.end(c.Conn.Rollback()))
	}
	return t, nil
}

// queryOnly reports whether the connection cannot write.
func (c *conn) queryOnly(ctx context.Context) (bool, error) {
	s, err := c.Conn.Prepare(ctx, "PRAGMA query_only")
	if err != nil {
		return false, err
	}
	defer s.Close()
	_, err = s.Next(ctx)
	return s.Int(0) != 0, err
}

// Begin implements [driver.Conn].
func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

// Ping implements [driver.Pinger]: it reads the schema, so that a file that is none is found.
func (c *conn) Ping(ctx context.Context) error {
	return plain(ctx, c.Exec(ctx, "SELECT count(*) FROM sqlite_schema"))
}

// ResetSession implements [driver.SessionResetter]. A transaction that was begun by Exec goes on,
// as with other drivers: programs with one connection do that.
func (c *conn) ResetSession(context.Context) error {
	if !c.IsValid() {
		return driver.ErrBadConn
	}
	return nil
}

// IsValid implements [driver.Validator].
func (c *conn) IsValid() bool { return !c.dead && !c.Closed() }

// tx is a transaction.
type tx struct {
	c        *conn
	readOnly bool // its end lets the connection write again
}

// Commit implements [driver.Tx]. One that fails is rolled back: database/sql takes it for ended.
func (t *tx) Commit() error {
	err := t.c.Conn.Commit()
	if err != nil {
		err = errors.Join(err, t.c.Conn.Rollback())
	}
	return t.end(err)
}

// Rollback implements [driver.Tx].
func (t *tx) Rollback() error { return t.end(t.c.Conn.Rollback()) }

func (t *tx) end(err error) error {
	if t.readOnly {
		off := t.c.Exec(context.Background(), "PRAGMA query_only = off")
		t.c.dead = t.c.dead || off != nil
		err = errors.Join(err, off)
	}
	return err
}
