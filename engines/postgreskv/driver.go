// Package postgreskv is the engine "postgres": a table of a PostgreSQL server.
//
//	db, err := kv.Open(ctx, "postgres:?dsn=postgres://app@db.example.com/app&table=kv")
//
// It is a module of its own, since few programs want its client (github.com/jackc/pgx). The
// parameter dsn is what pgx takes, a URL or "host=... dbname=..."; what is not in there comes from
// the environment, PGHOST and so on. A path means nothing: the data is the server's.
//
// All pairs are in one table, (k bytea PRIMARY KEY, v bytea NOT NULL), made when it is not there.
// Other programs may read it, and write it.
//
// A snapshot is a REPEATABLE READ transaction, which sees one state. A transaction is SERIALIZABLE:
// one that meets that of another process is rolled back by the server, is kv.Aborted, and kv runs
// it again. Each holds a connection; the pool has 32 of them, or as many as pool_max_conns in the
// dsn says.
//
// Durability: Synced is synchronous_commit = on. Flushed and Buffered are synchronous_commit = off:
// the commit is the server's, and outlives this process, but a crash of the server may take the
// last ones back, the later before the earlier. How far the server's own syncs are to be trusted is
// for its fsync and its disks.
//
// A commit whose answer was lost is in doubt; commits after it go on.
//
// # What is ours
//
//   - ours_cursor.go: a cursor is several queries of a transaction, each of as many pairs as are
//     small, instead of a row at a time
package postgreskv

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// options are those of a URL.
type options struct{ dsn, table string }

var table = driver.Table[options]{
	driver.Text("dsn", "URL", "the server and the database, as pgx takes it",
		func(o *options) *string { return &o.dsn }).WithDefault("PGHOST, PGDATABASE and so on"),
	driver.Text("table", "NAME", "the table", func(o *options) *string { return &o.table }),
}

// Driver opens tables of PostgreSQL. The zero Driver is ready.
type Driver struct{}

var _ driver.Driver = Driver{}

// Info describes PostgreSQL.
func (Driver) Info() driver.Info {
	return driver.Info{Name: "postgres", Summary: "a table of a PostgreSQL server",
		Modules: []string{"github.com/jackc/pgx/v5"}, Options: table.Options(options{table: "kv"}), Caps: caps}
}

// What PostgreSQL takes: an entry of an index is at most 2704 bytes, of which 12 are not the key's;
// of a value so much goes through the connection at once, and back.
const (
	maxKey   = 2692
	maxValue = 1<<28 - 1
)

var (
	synced  = driver.Promise{Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true}
	flushed = driver.Promise{Supported: true, Class: driver.Flushed, Intact: true, KillAtomic: true, PowerAtomic: true}
)

var caps = driver.Caps{
	PureGo:   true,
	Modes:    []driver.Mode{driver.Shared, driver.ReadOnly},
	Promises: [3]driver.Promise{driver.Synced: synced, driver.Flushed: flushed, driver.Buffered: flushed},
	MayAbort: true,
	Remote:   true,
	MaxKey:   maxKey,
	MaxValue: maxValue,
	Compacts: true,
}

// mostConnections is how many a store opens at most, if the dsn does not say.
const mostConnections = 32

// Open connects, and makes the table unless the mode is ReadOnly.
func (Driver) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	o := options{table: "kv"}
	if err := table.Read(c.Params, &o); err != nil {
		return nil, err
	}
	if o.table == "" || len(o.table) > 63 {
		return nil, &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf("table %q", o.table),
			Hint: "a name of PostgreSQL has 1 to 63 bytes"}
	}
	config, err := pgxpool.ParseConfig(o.dsn)
	if err != nil {
		return nil, &driver.Error{Kind: driver.Invalid, Err: err, Hint: "give dsn=postgres://user@host/database"}
	}
	if config.MaxConns == defaultConnections() {
		config.MaxConns = mostConnections
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, classify(err)
	}
	s := newStore(pool, pgx.Identifier{o.table}.Sanitize())
	if err := s.create(ctx, c.Mode); err != nil {
		pool.Close()
		return nil, classify(err)
	}
	return s, nil
}

// defaultConnections is what pgx takes where nothing is said.
func defaultConnections() int32 {
	config, err := pgxpool.ParseConfig("")
	if err != nil {
		return 0
	}
	return config.MaxConns
}

// create makes the table. PostgreSQL: two that make it at once meet in its catalogue, and then it
// is there.
func (s *store) create(ctx context.Context, mode driver.Mode) error {
	if mode == driver.ReadOnly {
		_, err := s.pool.Exec(ctx, "SELECT 1 FROM "+s.table+" LIMIT 1")
		return err
	}
	text := "CREATE TABLE IF NOT EXISTS " + s.table + " (k bytea PRIMARY KEY, v bytea NOT NULL)"
	_, err := s.pool.Exec(ctx, text)
	if state := sqlState(err); state == uniqueViolation || state == duplicateTable {
		_, err = s.pool.Exec(ctx, text)
	}
	return errors.Join(err, ctx.Err())
}
