package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"reflect"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// WrapKV is the function Wrap of a build's package.
func (l *Library) WrapKV(h *sql.DB, options ...kv.Option) (*kv.DB, error) {
	own := *l
	own.pool = h
	path, err := l.pathOf(h)
	c := driver.Config{Path: cmp.Or(path, "without a file"), Mode: driver.Shared, Params: map[string]string{"Table": "kv"}}
	return kv.OpenDriver(context.Background(), wrapped{&own, err}, c, options...)
}

// HandleOf is the function Handle of a build's package.
func (l *Library) HandleOf(db *kv.DB) (*sql.DB, bool) {
	s, ok := db.Driver().(*Store)
	if !ok || s.lib.Name != l.Name || s.lib.pool == nil {
		return nil, false
	}
	return s.lib.pool, true
}

// wrapped is a build for one pool, or what makes that unfit for a store.
type wrapped struct {
	*Library
	unfit error
}

// Open opens a store in the table kv.
func (w wrapped) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	if w.unfit != nil {
		return nil, w.unfit
	}
	return w.Library.Open(ctx, c)
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
	ctx, cancel := context.WithTimeout(context.Background(), kv.DefaultWait) // h may lend no more connections
	defer cancel()
	err = h.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path)
	switch {
	case err == nil && path == "":
		err = unfit("open a file", "the database is in memory, and each connection has its own")
	case ctx.Err() != nil:
		err = &driver.Error{Kind: driver.Busy, Err: err, Hint: "end what has all connections of the pool"}
	}
	return path, err
}

// makeTable creates the table of a program's database, if that is wrapped and has none.
func (s *Store) makeTable(c *conn) error {
	if s.lib.pool == nil || s.readOnly {
		return nil
	}
	return errors.Join(c.setLevel("EXTRA"), c.exec(createTable))
}
