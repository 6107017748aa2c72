//go:build cgo

// Package sqldriver is the driver "sqlite-c" of database/sql: SQLite in C by package sqlite.
//
//	db, err := sql.Open("sqlite-c", "file:app.db?_journal_mode=wal&_txlock=immediate")
//
// Names of databases are those of github.com/mattn/go-sqlite3, and take modernc.org/sqlite's
// _pragma=name(value) as well; see docs/sqlite.md. [NewConnector] takes Go's types in place of a
// name.
//
// Integers, floats, texts and blobs are int64, float64, string and []byte. Columns that are
// declared as BOOLEAN are bool, those declared as DATE, DATETIME or TIMESTAMP are time.Time where
// they hold a time; times are written as texts with nanoseconds and zone. Errors are those of
// package sqlite: errors.Is(err, sqlite.ConstraintUnique), errors.Is(err, kv.Busy).
package sqldriver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/assaydb/assay/sqlite"
)

// Name is the driver's name in database/sql.
const Name = "sqlite-c"

func init() { sql.Register(Name, &Driver{}) }

// Driver is the driver; its zero value is ready.
type Driver struct{}

var (
	_ driver.Driver        = (*Driver)(nil)
	_ driver.DriverContext = (*Driver)(nil)
)

// Open implements [driver.Driver].
func (d *Driver) Open(name string) (driver.Conn, error) {
	c, err := d.OpenConnector(name)
	if err != nil {
		return nil, err
	}
	return c.Connect(context.Background())
}

// OpenConnector implements [driver.DriverContext]: what is wrong with a name is an error of
// [sql.Open].
func (d *Driver) OpenConnector(name string) (driver.Connector, error) { return parse(name) }

// Options are what connections of a pool have in common, beside those of the database.
type Options struct {
	Database sqlite.Options
	Begin    sqlite.TxKind  // of transactions that may write; the zero value is Immediate
	Location *time.Location // in which times are returned; nil: as they were written, or UTC
	Zone     *time.Location // as Location; times are written in it, too, and texts without a zone are of it
	Times    TimeFormat     // in which times are written
	AnyTimes bool           // texts without a declared type, as max(day) is, are times where they read as one
	// Connected is called with each new connection: to set callbacks, to attach databases.
	Connected func(context.Context, *sqlite.Conn) error
}

// A Connector opens connections to a database, for [sql.OpenDB].
type Connector struct {
	path string
	o    Options
}

// NewConnector returns one for the database at path, which is as [sqlite.Open] takes it; nil
// options are the defaults.
func NewConnector(path string, o *Options) *Connector {
	c := &Connector{path: path}
	if o != nil {
		c.o = *o
	}
	return c
}

// Connect implements [driver.Connector].
func (c *Connector) Connect(ctx context.Context) (driver.Conn, error) {
	// A connection outlives the call that needed it first.
	s, err := sqlite.Open(ctx, c.path, &c.o.Database)
	if err != nil {
		return nil, plain(ctx, err)
	}
	if c.o.Connected != nil {
		if err := c.o.Connected(ctx, s); err != nil {
			_ = s.Close()
			return nil, err
		}
	}
	return &conn{Conn: s, o: &c.o}, nil
}

// Driver implements [driver.Connector].
func (c *Connector) Driver() driver.Driver { return &Driver{} }

// Raw calls fn with the connection of package sqlite beneath one of a pool:
//
//	conn, err := db.Conn(ctx)
//	...
//	err = sqldriver.Raw(conn, func(c *sqlite.Conn) error { return c.BackupTo(ctx, "copy.db") })
func Raw(c *sql.Conn, fn func(*sqlite.Conn) error) error {
	return c.Raw(func(d any) error { return fn(d.(*conn).Conn) })
}
