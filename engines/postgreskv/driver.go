// Package postgreskv is the engine "postgres": a table of a PostgreSQL server.
//
//	db, err := kv.Open(ctx, "postgres:orders?dsn=postgres://app@db.example.com/app")
//
// It is a module of its own, since few programs want its client (github.com/jackc/pgx). The path is
// the name of the table; one of more than 63 bytes is cut, and ends with a hash. The parameter dsn
// is what pgx takes, a URL or "host=... dbname=..."; what is not in there comes from the
// environment, PGHOST and so on.
//
// All pairs are in one table, (k bytea PRIMARY KEY, v bytea NOT NULL), made when it is not there.
// Other programs may read it, and write it. Beside it lies the table assay_commits, of all stores
// of the database.
//
// A snapshot is a REPEATABLE READ transaction, which sees one state, between two commits. A
// transaction is SERIALIZABLE: one that meets that of another process is rolled back by the server,
// is kv.Aborted, and kv runs it again. If one has read what another then wrote, and that commits
// first, a snapshot between the two shows the second without the first: it is in the order of the
// commits, and not always in the one order that explains what transactions have read. With the
// option views=serial it is in that order: see ours_views.go. Each holds a connection; the pool has
// 32 of them, or as many as pool_max_conns in the dsn says. The state that a transaction sees is
// that of its first read.
//
// Durability: Synced is synchronous_commit = on, or what the option synced says for servers with a
// replica: remote_apply, remote_write or local. Flushed and Buffered are synchronous_commit = off:
// the commit is the server's, and outlives this process, but a crash of the server may take the
// last ones back, the later before the earlier. A server whose fsync is off delivers no Synced. How
// far its syncs are to be trusted is for its disks.
//
// A connection that is lost, because the server was started again or the network failed: what was
// under way is kv.Aborted. An Update runs again, on a new connection, for which it waits as long as
// its context and the option timeout allow. A commit whose answer was lost is looked up: see
// ours_commit.go. What cannot be found out is in doubt; commits after it go on.
//
// # What is ours
//
//   - ours_cursor.go: a cursor is several queries of a transaction, each of as many pairs as are
//     small, instead of a row at a time
//   - ours_commit.go: a mark of each handle in a table, by which a commit in doubt is resolved
//   - ours_tables.go: tables that are made where they are not there, and names that are too long
//   - ours_connection.go: connections, and waiting for a server that was lost
//   - ours_views.go: snapshots in the order of the transactions that write
package postgreskv

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// options are those of a URL.
type options struct {
	dsn     string
	synced  string
	seconds int
	views   string
}

func defaults() options { return options{synced: "on", seconds: 30, views: committedViews} }

func (o *options) timeout() time.Duration { return time.Duration(o.seconds) * time.Second }

var table = driver.Table[options]{
	driver.Text("dsn", "URL", "the server and the database, as pgx takes it",
		func(o *options) *string { return &o.dsn }).WithDefault("PGHOST, PGDATABASE and so on"),
	driver.OneWord("synced", "synchronous_commit of a commit that is synced",
		func(o *options) *string { return &o.synced }, "on", "remote_apply", "remote_write", "local"),
	driver.Whole("timeout", "seconds", 1, "for a server that was lost, and for looking for a commit in doubt",
		func(o *options) *int { return &o.seconds }),
	driver.OneWord("views", "what a View shows: the last commit, or the order of all transactions, for which it may wait",
		func(o *options) *string { return &o.views }, committedViews, serialViews),
}

// Driver opens tables of PostgreSQL. The zero Driver is ready.
type Driver struct{}

var _ driver.Driver = Driver{}

// Info describes PostgreSQL.
func (Driver) Info() driver.Info {
	return driver.Info{Name: "postgres", Summary: "a table of a PostgreSQL server",
		Modules: []string{"github.com/jackc/pgx/v5"}, Options: table.Options(defaults()), Caps: caps}
}

// What PostgreSQL takes: an entry of an index is at most 2704 bytes, of which 12 are not the key's;
// of a value so much goes through the connection at once, and back; a name.
const (
	maxKey   = 2692
	maxValue = 1<<28 - 1
	maxName  = 63
)

var (
	synced  = driver.Promise{Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true}
	flushed = driver.Promise{Supported: true, Class: driver.Flushed, Intact: true, KillAtomic: true, PowerAtomic: true}
)

var caps = driver.Caps{
	PureGo:        true,
	Persistent:    true,
	Modes:         []driver.Mode{driver.Shared, driver.ReadOnly},
	SharedReading: true,
	Promises:      [3]driver.Promise{driver.Synced: synced, driver.Flushed: flushed, driver.Buffered: flushed},
	MayAbort:      true,
	Remote:        true,
	MaxKey:        maxKey,
	MaxValue:      maxValue,
	Compacts:      true,
}

// Open connects, and makes the table c.Path unless the mode is ReadOnly.
func (Driver) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	o := defaults()
	if err := table.Read(c.Params, &o); err != nil {
		return nil, err
	}
	if strings.ContainsRune(c.Path, 0) || c.Path == commitsTable {
		return nil, &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf("table %q", c.Path), Hint: "choose another name"}
	}
	config, err := poolConfig(&o)
	if err != nil {
		return nil, &driver.Error{Kind: driver.Invalid, Err: err, Hint: "give dsn=postgres://user@host/database"}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, classify(err)
	}
	s := newStore(pool, pgx.Identifier{nameOf(c.Path)}.Sanitize(), o)
	if err := s.prepare(ctx, c.Mode); err != nil {
		pool.Close()
		return nil, classify(err)
	}
	return s, nil
}
