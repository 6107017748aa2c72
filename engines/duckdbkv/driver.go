// Package duckdbkv is the engine "duckdb": a DuckDB database in one file.
//
// DuckDB is a column store for analytics: it reads many rows of few columns, in blocks of
// thousands. A key-value store asks it for single rows, one at a time, which is what it is worst
// at; each costs parsing, planning and a start of its vectors. The engine is here to show by
// measurement how large that mismatch is.
//
// It is a module of its own, because DuckDB's libraries take half a gigabyte to download, and needs
// cgo. The command with it in is beside it:
//
//	cd engines/duckdbkv && go run ./assay run ycsb --engines duckdb,sqlite
//
// All pairs are in one table, kv(k BLOB PRIMARY KEY, v BLOB NOT NULL), whose primary key is an
// index.
//
// Durability: DuckDB syncs its log at every commit and cannot be asked not to. Nevertheless every
// class delivers Flushed: a power loss amid a commit may leave a log whose last entry does not
// match its checksum, with which DuckDB does not open, and one behind a commit has taken a part of
// it. A process that dies loses nothing. After a failed sync DuckDB reads nothing any more until it
// is opened again.
//
// Locks: one process alone.
//
// # What is ours
//
//   - ours_create.go: a store is made beside its name, and is whole when it has it
//   - ours_lock.go: DuckDB's lock belongs to the process; a second opening by the same one is refused
//   - ours_mark.go: a database of another program is refused, never written to
//   - ours_batch.go: a batch is a few statements of many rows, not one for each
//   - ours_cursor.go: a cursor is several queries, as one connection has one result at a time
package duckdbkv

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens DuckDB databases. The zero Driver is ready.
type Driver struct{}

var _ driver.Driver = Driver{}

// Info describes DuckDB.
func (Driver) Info() driver.Info {
	return driver.Info{
		Name:    "duckdb",
		Summary: "column store for analytics in one file, one process (DuckDB): not made for single keys",
		Modules: []string{"github.com/duckdb/duckdb-go/v2"},
		Options: table.Options(Options{}),
		Caps:    caps, Companions: []string{".wal"},
	}
}

var flushed = driver.Promise{Supported: true, Class: driver.Flushed, KillAtomic: true, DiskMayBreak: true}

var caps = driver.Caps{
	Persistent: true,
	Modes:      []driver.Mode{driver.Exclusive},
	Promises:   [3]driver.Promise{driver.Flushed: flushed, driver.Buffered: flushed},
	Compacts:   true,
}

// Open opens or creates the database at c.Path.
func (Driver) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	var o Options
	if err := table.Read(c.Params, &o); err != nil {
		return nil, err
	}
	path, err := claim(c.Path)
	if err != nil {
		return nil, err
	}
	if _, missing := os.Stat(path); errors.Is(missing, fs.ErrNotExist) {
		err = create(ctx, path, o.config())
	}
	var s *store
	if err == nil {
		s, err = open(ctx, path, o.config())
	}
	if err != nil {
		disclaim(path)
		return nil, classifyOpen(err)
	}
	return s, nil
}

// open attaches the file to a DuckDB that has nothing else. Its name is an SQL string there, where
// the driver's own form would end it at a question mark.
func open(ctx context.Context, path string, config url.Values) (*store, error) {
	attach := "ATTACH IF NOT EXISTS " + quoted(path) + " AS store (TYPE duckdb)"
	connector, err := duckdb.NewConnector(":memory:?"+config.Encode(), func(c sqldriver.ExecerContext) error {
		for _, text := range []string{attach, "USE store"} {
			if _, err := c.ExecContext(context.Background(), text, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s := &store{db: sql.OpenDB(connector), path: path}
	s.db.SetMaxIdleConns(16) // connections keep their statements
	if err := s.identify(ctx); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, os.Chmod(path, 0o600)
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
