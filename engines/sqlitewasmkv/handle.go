package sqlitewasmkv

import (
	"context"
	"database/sql"

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv"
)

// Options are SQLite's settings, and the table that holds the pairs. The zero value is the default
// of each.
type Options = sqlite.Options

// Open opens or creates the database at path; nil options are the defaults. It is kv.Open with Go's
// types in place of a URL.
//
// A program may open the same path by github.com/ncruces/go-sqlite3 as well, in this process or
// another, and use SQL: each sees the other's commits, and the locks are SQLite's. In this process
// it must be that package and no other build of SQLite. It must not change the journal mode, nor
// the columns k and v of the table kv, while the store is open.
func Open(ctx context.Context, path string, o *Options, options ...kv.Option) (*kv.DB, error) {
	return library.OpenKV(ctx, path, o, options...)
}

// Wrap makes a store of the table kv in the database that h has open by
// github.com/ncruces/go-sqlite3/driver. The table is created if it is missing. h stays the
// program's, and either may be closed first.
//
// The store has connections of its own to the file. A transaction of the store that writes and one
// of h wait for each other as those of two processes do: that of the store until its time is up,
// that of h for its busy_timeout. Wrap begins one on either side, when nobody writes, and rolls it
// back, to see that their locks meet: what has others (vfs, nolock) is refused. So are a database
// in memory and a pool that only reads; with kv.WithMode(kv.ReadOnly) there are no such looks. A
// pool that lends no connection within a second is Busy. h must not change the journal mode, nor
// run with synchronous=OFF, which would take commits of the store with it. For another table see
// Options.
func Wrap(h *sql.DB, options ...kv.Option) (*kv.DB, error) { return library.WrapKV(h, options...) }

// Handle returns what Wrap made the store of db from; false if db is of another engine, or was
// opened by its path. SQLite has no handle of a database, only connections: open the same path for
// SQL beside the store.
func Handle(db *kv.DB) (*sql.DB, bool) { return library.HandleOf(db) }
