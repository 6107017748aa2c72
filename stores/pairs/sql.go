package pairs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/stores/internal/sqlite"
)

// sqlForm keeps a store in tables.
type sqlForm struct {
	kind   *kind
	db     *sql.DB
	file   sqlite.File  // for its errors
	looked func() error // ends a look at the file
}

// openSQL opens the tables, which a new file gets at once, and one that is there when something is
// put.
func (k *kind) openSQL(ctx context.Context, c driver.Config, fresh bool) (form, error) {
	mode := "rw"
	switch {
	case c.Mode == driver.ReadOnly:
		mode = "ro"
	case fresh:
		mode = "rwc"
		if err := driver.MakeDirs(filepath.Dir(c.Path)); err != nil {
			return nil, err
		}
	}
	f, err := k.sqlForm(c.Path, mode)
	if err != nil {
		return nil, err
	}
	if fresh {
		err = f.create(ctx)
	} else {
		_, err = f.hasTables(ctx)
	}
	if err != nil {
		return nil, errors.Join(f.wrap(err), f.close())
	}
	return f, nil
}

func (k *kind) sqlForm(path, mode string) (*sqlForm, error) {
	const pragmas = "&_pragma=busy_timeout(0)&_pragma=synchronous(FULL)&_pragma=fullfsync(1)"
	f := &sqlForm{kind: k, file: sqlite.File{Path: path}, looked: func() error { return nil }}
	if mode == "ro" {
		f.looked = sqlite.Look(path)
	}
	var err error
	f.db, err = sql.Open("sqlite", sqlite.URL(path, "mode="+mode+pragmas))
	return f, err
}

// wrap gives an error of SQLite its kind.
func (f *sqlForm) wrap(err error) error {
	if sqlite.Code(err) == 0 {
		return err
	}
	return f.file.Wrap("", err)
}

// inTables reports whether the store is in tables of an SQLite file.
func (k *kind) inTables(ctx context.Context, path string) (has bool, err error) {
	f, err := k.sqlForm(path, "ro")
	if err == nil {
		has, err = f.hasTables(ctx)
		err = errors.Join(f.wrap(err), f.close())
	}
	return has, err
}

func (f *sqlForm) hasTables(ctx context.Context) (bool, error) {
	return sqlite.HasTable(ctx, f.db, f.kind.holds)
}

func (f *sqlForm) create(ctx context.Context) error {
	s, err := f.begin(ctx, true)
	if err != nil {
		return err
	}
	if err = f.kind.createSQL(ctx, s.(*sqlState).conn); err == nil {
		err = s.commit()
	}
	return errors.Join(err, s.close())
}

func (f *sqlForm) begin(ctx context.Context, write bool) (state, error) {
	conn, err := f.db.Conn(ctx)
	if err != nil {
		return nil, f.wrap(err)
	}
	s := &sqlState{f: f, conn: conn}
	// SQLite: the state is fixed by what a transaction reads first.
	text := "BEGIN; SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 1)"
	if write {
		text = "BEGIN IMMEDIATE"
	}
	if _, err := conn.ExecContext(context.Background(), text); err != nil {
		return nil, errors.Join(f.wrap(err), s.close())
	}
	return s, nil
}

// check has SQLite look at all that is stored.
func (f *sqlForm) check(ctx context.Context) error {
	var found string
	err := f.db.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&found)
	if err == nil && found != "ok" {
		err = &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("integrity_check: %s", found)}
	}
	return f.wrap(err)
}

func (f *sqlForm) others(ctx context.Context) (bool, error) {
	has, err := f.hasTables(ctx)
	return !has, f.wrap(err)
}

func (f *sqlForm) close() error { return errors.Join(f.db.Close(), f.looked()) }

// sqlState is a transaction, of a connection of its own.
type sqlState struct {
	f       *sqlForm
	conn    *sql.Conn
	created bool // the tables are there
}

func (s *sqlState) dump(emit func(k, v []byte) error) error {
	return s.f.wrap(s.f.kind.dumpSQL(context.Background(), s.conn, emit))
}

func (s *sqlState) restore(k, v []byte) error {
	if !s.created {
		if err := s.f.kind.createSQL(context.Background(), s.conn); err != nil {
			return s.f.wrap(err)
		}
		s.created = true
	}
	return s.f.wrap(s.f.kind.restoreSQL(context.Background(), s.conn, k, v))
}

func (s *sqlState) commit() error {
	_, err := s.conn.ExecContext(context.Background(), "COMMIT")
	return s.f.wrap(err)
}

func (s *sqlState) close() error {
	_, err := s.conn.ExecContext(context.Background(), "ROLLBACK")
	if err != nil && strings.Contains(err.Error(), "no transaction is active") {
		err = nil
	}
	return errors.Join(s.f.wrap(err), s.conn.Close())
}
