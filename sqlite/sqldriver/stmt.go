//go:build cgo

package sqldriver

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/sqlite"
)

// stmt is a prepared statement. While rows of it are open, which happens within a transaction, it
// runs as another one.
type stmt struct {
	*sqlite.Stmt
	c        *conn
	names    []string // of parameters, without their first character
	places   []int    // of parameters: the argument's that they have by number; nil if all have that of their own
	columns  []column
	named    []string // of the result's columns, as they were when columns was made
	readOnly bool
	rows     rows
	inUse    bool // rows are open
	closed   bool
}

var (
	_ driver.Stmt             = (*stmt)(nil)
	_ driver.StmtExecContext  = (*stmt)(nil)
	_ driver.StmtQueryContext = (*stmt)(nil)
)

func newStmt(c *conn, p *sqlite.Stmt) *stmt {
	s := &stmt{Stmt: p, c: c, readOnly: p.ReadOnly()}
	if n := p.Params(); n > 0 {
		s.names = make([]string, n)
		for i := range s.names {
			name := p.ParamName(i + 1)
			s.names[i] = strings.TrimLeft(name, ":@$?")
			if place, err := strconv.Atoi(strings.TrimPrefix(name, "$")); err == nil && place != i+1 {
				s.place(i, place)
			}
		}
	}
	return s
}

// place has parameter i, from 0, take a positional argument by its number: SQLite numbers $1 as a
// name, in the order in which it comes first.
func (s *stmt) place(i, place int) {
	if s.places == nil {
		s.places = make([]int, len(s.names))
		for k := range s.places {
			s.places[k] = k + 1
		}
	}
	s.places[i] = place
}

// NumInput implements [driver.Stmt]: arguments are counted when they are bound, as several may have
// one name.
func (s *stmt) NumInput() int { return -1 }

// take returns the arguments that are the statement's, and those left for the next one: positional
// ones are used up, those with names serve all.
func (s *stmt) take(args []driver.NamedValue) (mine, left []driver.NamedValue) {
	want, dropped := s.Params(), 0
	for _, a := range args {
		switch {
		case a.Name != "":
			mine, left = append(mine, a), append(left, a)
		case dropped < want:
			dropped++
			mine = append(mine, a)
		default:
			a.Ordinal -= dropped
			left = append(left, a)
		}
	}
	return mine, left
}

// bind gives the statement its arguments. A parameter without one is an error.
func (s *stmt) bind(args []driver.NamedValue) error {
	given := 0
	if s.places != nil || slices.ContainsFunc(args, func(a driver.NamedValue) bool { return a.Name != "" }) {
		var err error
		if given, err = s.bindNames(args); err != nil {
			return err
		}
	} else {
		for i := range args {
			if args[i].Ordinal > len(s.names) {
				return tooMany(len(s.names), len(args))
			}
			given++
			s.value(args[i].Ordinal, args[i].Value)
		}
	}
	if given < len(s.names) {
		return &kv.Error{Op: "run", Engine: Name, Kind: kv.Invalid,
			Err: fmt.Errorf("not enough args to execute query: want %d got %d", len(s.names), given)}
	}
	return nil
}

// bindNames binds arguments of which some have names, or whose parameters have other numbers than
// their places, and returns how many parameters have one. A name that no parameter has is passed
// over: the text may have other statements.
func (s *stmt) bindNames(args []driver.NamedValue) (given int, err error) {
	has := make([]bool, len(s.names)) // as two arguments may be for one parameter
	for i := range args {
		a, found := &args[i], false
		for k, name := range s.names {
			place := k + 1
			if s.places != nil {
				place = s.places[k]
			}
			if a.Name == "" && place == a.Ordinal || a.Name != "" && name == a.Name {
				found = true
				if !has[k] {
					given++
				}
				has[k] = true
				s.value(k+1, a.Value)
			}
		}
		if a.Name == "" && !found {
			return 0, &kv.Error{Op: "run", Engine: Name, Kind: kv.Invalid, Err: fmt.Errorf("no parameter is $%d", a.Ordinal)}
		}
	}
	return given, nil
}

func (s *stmt) value(i int, v driver.Value) {
	switch v := v.(type) {
	case int64:
		s.BindInt(i, v)
	case float64:
		s.BindFloat(i, v)
	case string:
		s.BindText(i, v)
	case []byte:
		if v == nil {
			s.BindNull(i)
		} else {
			s.BindBlob(i, v)
		}
	case bool:
		n := int64(0)
		if v {
			n = 1
		}
		s.BindInt(i, n)
	case time.Time:
		s.bindTime(i, v)
	default:
		s.BindNull(i)
	}
}

// free returns s, or a copy of it that runs beside its open rows.
func (s *stmt) free(ctx context.Context) (*stmt, error) {
	if s.closed {
		return nil, &kv.Error{Op: "run", Engine: Name, Kind: kv.Closed}
	}
	if !s.inUse {
		return s, nil
	}
	p, err := s.c.Conn.Prepare(ctx, s.SQL())
	if err != nil {
		return nil, plain(ctx, err)
	}
	return newStmt(s.c, p), nil
}

// ExecContext implements [driver.StmtExecContext].
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	free, err := s.free(ctx)
	if err != nil {
		return nil, err
	}
	r, err := free.exec(ctx, args)
	if free != s {
		err = errors.Join(err, free.Close())
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}

func (s *stmt) exec(ctx context.Context, args []driver.NamedValue) (result, error) {
	if err := s.bind(args); err != nil {
		return result{}, err
	}
	if err := s.Run(ctx); err != nil {
		return result{}, plain(ctx, err)
	}
	return result{s.LastID(), s.Changes()}, nil
}

// QueryContext implements [driver.StmtQueryContext].
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	free, err := s.free(ctx)
	if err != nil {
		return nil, err
	}
	r, err := free.query(ctx, args)
	if err != nil {
		if free != s {
			_ = free.Close()
		}
		return nil, err
	}
	r.owned = free != s
	return r, nil
}

// query begins a run. Its first crossing is made here, so that a statement that fails is an error
// of the query, and one that writes has written.
func (s *stmt) query(ctx context.Context, args []driver.NamedValue) (*rows, error) {
	if err := s.bind(args); err != nil {
		return nil, err
	}
	first, err := s.Next(ctx)
	if err != nil {
		return nil, plain(ctx, err)
	}
	s.inUse = true
	s.rows = rows{s: s, ctx: ctx, first: first, ended: !first}
	s.describe()
	return &s.rows, nil
}

// Exec implements [driver.Stmt], which database/sql does not call.
func (s *stmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }

// Query implements [driver.Stmt], which database/sql does not call.
func (s *stmt) Query([]driver.Value) (driver.Rows, error) { return nil, driver.ErrSkip }

// Close implements [driver.Stmt].
func (s *stmt) Close() error {
	s.closed = true
	return s.Stmt.Close()
}

// result is what a statement did.
type result struct{ id, changes int64 }

func (r *result) LastInsertId() (int64, error) { return r.id, nil }
func (r *result) RowsAffected() (int64, error) { return r.changes, nil }

// nothing is the statement of a text that has none.
type nothing struct{}

func (*nothing) Close() error                               { return nil }
func (*nothing) NumInput() int                              { return 0 }
func (*nothing) Exec([]driver.Value) (driver.Result, error) { return &result{}, nil }
func (*nothing) Query([]driver.Value) (driver.Rows, error)  { return &noRows{}, nil }

// noRows are its rows.
type noRows struct{}

func (*noRows) Columns() []string         { return nil }
func (*noRows) Close() error              { return nil }
func (*noRows) Next([]driver.Value) error { return io.EOF }

// isBlank reports whether there is no statement in a text: nothing but space, semicolons, comments.
func isBlank(text string) bool {
	for {
		text = strings.TrimLeft(text, " \t\r\n\f;")
		var found bool
		switch {
		case text == "":
			return true
		case strings.HasPrefix(text, "--"):
			_, text, _ = strings.Cut(text, "\n")
		case strings.HasPrefix(text, "/*"):
			if _, text, found = strings.Cut(text[2:], "*/"); !found {
				return true // SQLite: such a comment ends with the text
			}
		default:
			return false
		}
	}
}
