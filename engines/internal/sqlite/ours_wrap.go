package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

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
	if err == nil && path == "" {
		return "", unfit("open a file", "the database is in memory, and each connection has its own")
	}
	return path, notLent(ctx, err)
}

// notLent is the error for err, with which a call ended that takes a connection of the pool and
// waits for one as long as ctx lets it.
func notLent(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		err = &driver.Error{Kind: driver.Busy, Err: err, Hint: "end what has all connections of the pool"}
	}
	return err
}

// wraps reports whether the database is one that the program has open, and may be written to.
func (s *Store) wraps() bool { return s.lib.pool != nil && !s.readOnly }

// beginLook begins the transaction in which the database is looked at. For one that the program has
// open it is that which makes the table, if there is none.
func (s *Store) beginLook(c *conn) error {
	if !s.wraps() {
		return c.exec("BEGIN")
	}
	if err := errors.Join(s.meetsPool(c), c.setLevel("EXTRA")); err != nil {
		return err
	}
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if _, err := c.isEmpty(); driver.KindOf(err) == driver.Unsupported { // a store's, of a later format
		return err
	}
	return c.exec(createTable)
}

// endLook ends it, which found err.
func (s *Store) endLook(c *conn, err error) error {
	if err == nil && s.wraps() {
		err = c.exec("COMMIT")
		c.doubt = driver.IsInDoubt(err)
	}
	return errors.Join(err, c.rollback())
}

// meetsPool makes sure that c and the program's connections find each other's locks. Those may be
// of another VFS, with its own files or its own locks, or none (nolock). Each side begins a
// transaction that writes, while the other has one.
func (s *Store) meetsPool(c *conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	lent, err := s.lib.pool.Conn(ctx)
	if err != nil {
		return notLent(ctx, err)
	}
	defer lent.Close()
	h := func(text string) error { _, err := lent.ExecContext(context.Background(), text); return err }
	var wait int // of the program's connection, which goes back as it was; here kv waits
	if err := lent.QueryRowContext(context.Background(), "PRAGMA busy_timeout").Scan(&wait); err != nil {
		return err
	}
	defer h(fmt.Sprintf("PRAGMA busy_timeout = %d", wait))
	if err := errors.Join(h("PRAGMA busy_timeout = 0"), c.exec("BEGIN IMMEDIATE")); err != nil {
		return err
	}
	if err = h("BEGIN IMMEDIATE"); err == nil {
		// SQLite: where it may only read, such a transaction begins, too, and has no lock.
		err = cmp.Or(errors.Join(h("CREATE TABLE `a table that is rolled back`(k)"), h("ROLLBACK")), errLocks)
	}
	if err = errors.Join(c.rollback(), met(err)); err != nil {
		return err
	}
	if err := h("BEGIN IMMEDIATE"); err != nil {
		return cmp.Or(met(err), error(&driver.Error{Kind: driver.Busy, Err: err, Hint: "end the transaction that writes"}))
	}
	defer h("ROLLBACK")
	if err := c.exec("BEGIN IMMEDIATE"); driver.KindOf(err) != driver.Busy {
		return errors.Join(cmp.Or(err, errLocks), c.rollback())
	}
	return nil
}

var errLocks = unfit("open it without vfs= and nolock=", "the locks of the program's connections are not those of the file")

// met returns nil if err says that a lock is held. These are SQLite's own words, in all of its
// drivers.
func met(err error) error {
	switch {
	case err == nil, strings.Contains(err.Error(), "locked"):
		return nil
	case strings.Contains(err.Error(), "readonly"):
		return &driver.Error{Kind: driver.NotWritable, Err: err, Hint: "wrap it with kv.WithMode(kv.ReadOnly)"}
	}
	return err
}
