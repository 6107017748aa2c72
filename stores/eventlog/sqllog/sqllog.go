// Package sqllog keeps an event log in tables of an SQLite database, where SQL can query it.
//
//	log, err := sqllog.Open(ctx, "app.db", &sqllog.Options{Options: eventlog.Options{Streams: true}})
//
// The promises are those of package eventlog. An append of class Synced is committed with
// synchronous = FULL, any other with NORMAL, which is Flushed; the journal is a write-ahead log.
// Several processes may have the log open. After a commit that the disk failed, which is in doubt,
// an open log commits nothing more: open it again.
//
// # Tables
//
//	events         position INTEGER PRIMARY KEY AUTOINCREMENT, stream TEXT, version INTEGER, type TEXT, data BLOB,
//	               time INTEGER in nanoseconds since 1970, UTC, extra TEXT: JSON with id and meta, or NULL
//	truncated      stream TEXT PRIMARY KEY, version INTEGER: of streams whose last events were removed
//	ids            n INTEGER PRIMARY KEY, id TEXT, position, version and sum INTEGER: those that are remembered
//	subscriptions  name TEXT PRIMARY KEY, position INTEGER
//	parked         name TEXT, position INTEGER, cause TEXT
//	leases         name TEXT PRIMARY KEY, holder TEXT, until INTEGER in milliseconds since 1970
//	eventlog       one row: format, streams, reserved
//
// stream is empty for none; version is NULL without a stream or without Options.Streams. The unique
// index events_version on (stream, version) is there with Options.Streams. Positions up to
// sqlite_sequence.seq are used, lost or skipped; those up to eventlog.reserved may have been given
// to events that a power loss can lose.
//
// AUTOINCREMENT alone does not keep positions from being used twice: after a power loss the counter
// is as old as the last event that is left. The reservation does.
//
// Other programs may read the tables. They must not write them.
package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/sqlite"
)

// Options is how a log is kept. A nil *Options is the zero Options.
type Options struct {
	eventlog.Options

	// Indexes adds an index on each of these columns: "stream", "time", "type".
	Indexes []string

	// Pragmas are settings of SQLite for every connection: auto_vacuum, cache_size,
	// journal_size_limit, mmap_size, page_size, temp_store, wal_autocheckpoint.
	Pragmas map[string]string

	// Driver names the driver of database/sql that opens the file: "sqlite", which is
	// modernc.org/sqlite, if it is empty; "sqlite-c" is SQLite in C, of a program that imports
	// package sqlite/sqldriver. One process must not open the same file by two drivers: each drops
	// the locks of the other.
	Driver string

	// Readers is how many connections read at once; 0 is 4.
	Readers int

	// Wait is how long to wait for another process's transaction; 0 is 10 s. A context may end it
	// earlier.
	Wait time.Duration
}

var columns = []string{"stream", "time", "type"}

func (o *Options) complete() error {
	for _, c := range o.Indexes {
		if !slices.Contains(columns, c) {
			return sqlite.Invalid("open log", fmt.Errorf("unknown column %q to index", c),
				"valid are "+strings.Join(columns, ", "))
		}
	}
	return o.Check()
}

// Open opens the log in the SQLite database at path, creating it and its missing folders. The log's
// Close closes it.
func Open(ctx context.Context, path string, opts *Options) (*eventlog.Log, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	b := &backend{indexed: o.Streams, block: eventlog.FirstBlock(o.Reserve)}
	b.file = sqlite.File{Path: path, Driver: o.Driver, Pragmas: o.Pragmas, Readers: o.Readers, Wait: o.Wait}
	if err := errors.Join(o.complete(), b.file.Complete("open log", 4)); err != nil {
		return nil, err
	}
	b.first = b.block
	if err := b.open(ctx, &o); err != nil {
		return nil, errors.Join(b.wrap("open log", err), b.release())
	}
	return eventlog.NewLog(b), nil
}

// open opens the writer, whose connection makes the tables, then the readers.
func (b *backend) open(ctx context.Context, o *Options) error {
	var err error
	if b.writers, err = sql.Open(b.file.Driver, b.file.DSN("synchronous(FULL)", "busy_timeout(0)")); err != nil {
		return err
	}
	b.writers.SetMaxOpenConns(1)
	// SQLite: the change to a write-ahead log does not wait for other connections, whatever the
	// timeout.
	err = b.file.Retry(ctx, func() (err error) {
		b.writer, err = b.writers.Conn(context.WithoutCancel(ctx))
		return err
	})
	if err != nil {
		return err
	}
	if err := b.begins(); err != nil {
		return err
	}
	if err := b.transaction(ctx, kv.Synced, func() error { return b.create(o) }); err != nil {
		return err
	}
	if err := b.prepareWriter(); err != nil {
		return err
	}
	if err := b.skipReserved(ctx); err != nil {
		return err
	}
	if b.readers, err = b.file.OpenReaders(); err != nil {
		return err
	}
	return b.prepareReaders()
}
