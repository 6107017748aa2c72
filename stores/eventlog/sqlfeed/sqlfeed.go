// Package sqlfeed keeps a feed in tables of an SQLite database, where SQL can query it.
//
//	f, err := sqlfeed.Open(ctx, "feed.db", &sqlfeed.Options{})
//
// The promises are those of package feed. An append of class Synced is committed with synchronous = FULL, any other with
// NORMAL, which is Flushed; the journal is a write-ahead log. Several processes may have the feed open.
//
// # Tables
//
//	messages  seq INTEGER PRIMARY KEY, message BLOB
//	blocks    first INTEGER PRIMARY KEY, block BLOB, with feed.Zstd: see package feed
//	feed      one row: meta, as JSON
//
// Other programs may read the tables. They must not write them.
package sqlfeed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// Options is how a feed is kept. A nil *Options is the zero Options.
type Options struct {
	feed.Options

	// Pragmas are settings of SQLite for every connection: auto_vacuum, cache_size, journal_size_limit, mmap_size,
	// page_size, temp_store, wal_autocheckpoint.
	Pragmas map[string]string

	// Readers is how many connections read at once; 0 is 4.
	Readers int

	// Wait is how long to wait for another process's transaction; 0 is 10 s. A context may end it earlier.
	Wait time.Duration
}

var pragmas = []string{"auto_vacuum", "cache_size", "journal_size_limit", "mmap_size", "page_size", "temp_store", "wal_autocheckpoint"}

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
	for name, value := range o.Pragmas {
		if !slices.Contains(pragmas, name) {
			return invalid(fmt.Errorf("unknown pragma %q", name), "valid are "+strings.Join(pragmas, ", "))
		}
		if value == "" || strings.Trim(value, "-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return invalid(fmt.Errorf("pragma %s: value %q", name, value), "give a word or a number")
		}
	}
	return nil
}

// Open opens the feed in the SQLite database at path, creating it and its missing folders. The feed's Close closes it.
func Open(ctx context.Context, path string, opts *Options) (*feed.Feed, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	if path == "" || path == ":memory:" {
		return nil, invalid(errors.New("no path to a file"), "give the path of a file: a feed has several connections, which memory does not share")
	}
	path, err := filepath.Abs(path)
	if err == nil {
		err = driver.MakeDirs(filepath.Dir(path))
	}
	t := &table{path: path, wait: o.Wait}
	if err == nil {
		err = t.open(ctx, &o)
	}
	if err != nil {
		return nil, errors.Join(t.wrap("open feed", err), t.Close())
	}
	return feed.Keep(ctx, t, &o.Options)
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

const tables = `
CREATE TABLE IF NOT EXISTS messages (seq INTEGER PRIMARY KEY, message BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS blocks (first INTEGER PRIMARY KEY, block BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS feed (id INTEGER PRIMARY KEY CHECK (id = 1), meta TEXT NOT NULL);`

// open opens the writer, whose connection makes the tables, then the readers.
func (t *table) open(ctx context.Context, o *Options) (err error) {
	if t.writers, err = sql.Open("sqlite", dsn(t.path, o, "synchronous(FULL)", "busy_timeout(0)")); err != nil {
		return err
	}
	t.writers.SetMaxOpenConns(1)
	// SQLite: the change to a write-ahead log does not wait for other connections, whatever the timeout.
	var conn *sql.Conn
	err = t.retry(ctx, func() (err error) {
		conn, err = t.writers.Conn(context.WithoutCancel(ctx))
		return err
	})
	if err != nil {
		return err
	}
	if t.writer, err = newWriter(conn); err != nil {
		return errors.Join(err, conn.Close())
	}
	err = t.transaction(ctx, kv.Synced, func() error {
		_, err := conn.ExecContext(context.Background(), tables)
		return err
	})
	if err == nil {
		err = t.writer.prepareAll()
	}
	if err != nil {
		return err
	}
	if t.readers, err = sql.Open("sqlite", dsn(t.path, o, "query_only(1)", fmt.Sprintf("busy_timeout(%d)", o.Wait.Milliseconds()))); err != nil {
		return err
	}
	t.readers.SetMaxOpenConns(o.Readers)
	t.free = make(chan *session, o.Readers)
	for range o.Readers {
		t.free <- nil // opened when it is needed
	}
	return nil
}
