package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// WrapKV is the function Wrap of a build's package.
func (l *Library) WrapKV(h *sql.DB, options ...kv.Option) (*kv.DB, error) {
	path, err := l.pathOf(h)
	if err != nil {
		return nil, &driver.Error{Op: "wrap", Engine: l.Name, Kind: driver.KindOf(err), Err: err, Hint: driver.HintOf(err)}
	}
	own := *l
	own.pool = h
	c := driver.Config{Path: path, Mode: driver.Shared, Params: map[string]string{"Table": "kv"}}
	return kv.OpenDriver(context.Background(), &own, c, options...)
}

// HandleOf is the function Handle of a build's package.
func (l *Library) HandleOf(db *kv.DB) (*sql.DB, bool) {
	s, ok := db.Driver().(*Store)
	if !ok || s.lib.Name != l.Name || s.lib.pool == nil {
		return nil, false
	}
	return s.lib.pool, true
}

// pathOf returns where the database of h lies. SQLite: two builds of it in one process drop each
// other's locks.
func (l *Library) pathOf(h *sql.DB) (path string, err error) {
	t := reflect.TypeOf(h.Driver())
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !slices.Contains(l.Pools, t.PkgPath()) {
		return "", unfit("wrap it by the engine of its own build; if it has this one below it, give Open its path",
			"a database of the driver %v; %q are of this build", t, l.Pools)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err = h.QueryRowContext(ctx, "PRAGMA database_list").Scan(new(int), new(string), &path) // main is the first
	switch {
	case err == nil && path == "":
		err = unfit("open a file", "the database is in memory, and each connection has its own")
	case ctx.Err() != nil:
		err = lendsNone(err)
	}
	return path, err
}

func lendsNone(err error) error {
	return &driver.Error{Kind: driver.Busy, Err: err, Hint: "end what has all connections of the pool"}
}

// makeTable creates the table of a program's database, if that is wrapped and has none.
func (s *Store) makeTable(c *conn) error {
	if s.lib.pool == nil || s.readOnly {
		return nil
	}
	if _, err := c.isEmpty(); driver.KindOf(err) == driver.Unsupported { // a store's, of a later format
		return err
	}
	if err := s.meetsPool(c); err != nil {
		return err
	}
	return errors.Join(c.setLevel("EXTRA"), c.exec(createTable))
}

// meetsPool makes sure that c finds the locks that the program's connections take. They may be of
// another VFS, with its own files or its own locks, or of none (nolock).
func (s *Store) meetsPool(c *conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h, err := s.lib.pool.Conn(ctx)
	if err != nil {
		return lendsNone(err)
	}
	defer h.Close()
	var wait int // of the program's connection; here kv waits
	if err := h.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&wait); err != nil {
		return err
	}
	defer h.ExecContext(context.Background(), fmt.Sprintf("PRAGMA busy_timeout = %d", wait))
	if _, err := h.ExecContext(ctx, "PRAGMA busy_timeout = 0; BEGIN IMMEDIATE"); err != nil {
		return &driver.Error{Kind: driver.Busy, Err: err, Hint: "end the transaction that writes"}
	}
	defer h.ExecContext(context.Background(), "ROLLBACK")
	err = c.exec("BEGIN IMMEDIATE")
	if driver.KindOf(err) == driver.Busy {
		return nil
	}
	if err = errors.Join(err, c.rollback()); err != nil {
		return err
	}
	// SQLite: where it may only read, such a transaction begins, too, and has no lock.
	if _, err := h.ExecContext(ctx, "CREATE TABLE `a table that is rolled back`(k)"); err != nil {
		return &driver.Error{Kind: driver.NotWritable, Err: err, Hint: "wrap it with kv.WithMode(kv.ReadOnly)"}
	}
	return unfit("open it without vfs= and nolock=", "the locks of the program's connections are not those of the file")
}
