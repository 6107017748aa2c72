// Package sqllog keeps an event log in tables of an SQLite database, where SQL can query it.
//
//	log, err := sqllog.Open(ctx, "app.db", &sqllog.Options{Options: eventlog.Options{Streams: true}})
//
// The promises are those of package eventlog. An append of class Synced is committed with synchronous = FULL, any other
// with NORMAL, which is Flushed; the journal is a write-ahead log. Several processes may have the log open.
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
// stream is empty for none; version is NULL without a stream or without Options.Streams. The unique index events_version on
// (stream, version) is there with Options.Streams. Positions up to sqlite_sequence.seq are used, lost or skipped; those
// up to eventlog.reserved may have been given to events that a power loss can lose.
//
// AUTOINCREMENT alone does not keep positions from being used twice: after a power loss the counter is as old as the
// last event that is left. The reservation does.
//
// Other programs may read the tables. They must not write them.
package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// Options is how a log is kept. A nil *Options is the zero Options.
type Options struct {
	eventlog.Options

	// Indexes adds an index on each of these columns: "stream", "time", "type".
	Indexes []string

	// Pragmas are settings of SQLite for every connection: auto_vacuum, cache_size, journal_size_limit, mmap_size,
	// page_size, temp_store, wal_autocheckpoint.
	Pragmas map[string]string

	// Readers is how many connections read at once; 0 is 4.
	Readers int

	// Wait is how long to wait for another process's transaction; 0 is 10 s. A context may end it earlier.
	Wait time.Duration
}

var (
	columns = []string{"stream", "time", "type"}
	pragmas = []string{"auto_vacuum", "cache_size", "journal_size_limit", "mmap_size", "page_size", "temp_store", "wal_autocheckpoint"}
)

func (o *Options) complete() error {
	if o.Readers == 0 {
		o.Readers = 4
	}
	if o.Wait == 0 {
		o.Wait = kv.DefaultWait
	}
	if o.Readers < 0 || o.Wait < 0 {
		return invalid(fmt.Errorf("options Readers %d, Wait %v", o.Readers, o.Wait), "give a positive number, or 0 for the default")
	}
	for _, c := range o.Indexes {
		if !slices.Contains(columns, c) {
			return invalid(fmt.Errorf("unknown column %q to index", c), "valid are "+strings.Join(columns, ", "))
		}
	}
	for name, value := range o.Pragmas {
		if !slices.Contains(pragmas, name) {
			return invalid(fmt.Errorf("unknown pragma %q", name), "valid are "+strings.Join(pragmas, ", "))
		}
		if value == "" || strings.Trim(value, "-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return invalid(fmt.Errorf("pragma %s: value %q", name, value), "give a word or a number")
		}
	}
	return o.Check()
}

// Open opens the log in the SQLite database at path, creating it and its missing folders. The log's Close closes it.
func Open(ctx context.Context, path string, opts *Options) (*eventlog.Log, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	if path == "" || path == ":memory:" {
		return nil, invalid(errors.New("no path to a file"), "give the path of a file: a log has several connections, which memory does not share")
	}
	path, err := filepath.Abs(path)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	b := &backend{path: path, indexed: o.Streams, wait: o.Wait, block: eventlog.FirstBlock(o.Reserve)}
	b.first = b.block
	if err == nil {
		err = b.open(ctx, &o)
	}
	if err != nil {
		return nil, errors.Join(b.wrap("open log", err), b.release())
	}
	return eventlog.NewLog(b), nil
}

// open opens the writer, whose connection makes the tables, then the readers.
func (b *backend) open(ctx context.Context, o *Options) error {
	var err error
	if b.writers, err = sql.Open("sqlite", dsn(b.path, o, "synchronous(FULL)", "busy_timeout(0)")); err != nil {
		return err
	}
	b.writers.SetMaxOpenConns(1)
	// SQLite: the change to a write-ahead log does not wait for other connections, whatever the timeout.
	err = b.retry(ctx, func() (err error) {
		b.writer, err = b.writers.Conn(context.WithoutCancel(ctx))
		return err
	})
	if err != nil {
		return err
	}
	b.level = "FULL"
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
	if b.readers, err = sql.Open("sqlite", dsn(b.path, o, "query_only(1)", fmt.Sprintf("busy_timeout(%d)", o.Wait.Milliseconds()))); err != nil {
		return err
	}
	b.readers.SetMaxOpenConns(o.Readers)
	b.readers.SetMaxIdleConns(o.Readers)
	return b.prepareReaders()
}

// dsn names the database with what every connection must set: a pragma that was run on a pool holds on one connection.
// The driver runs the pragmas in the order of the alphabet, then sets the journal mode, after which the size of a page
// is fixed.
func dsn(path string, o *Options, session ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // file:///C:/dir/name
	}
	query := url.Values{}
	for name, value := range o.Pragmas {
		query.Add("_pragma", name+"("+value+")")
	}
	query.Set("_journal_mode", "WAL")
	query.Add("_pragma", "fullfsync(1)") // macOS: otherwise a sync ends in the drive's cache
	query.Add("_pragma", "checkpoint_fullfsync(1)")
	for _, p := range session {
		query.Add("_pragma", p)
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}
