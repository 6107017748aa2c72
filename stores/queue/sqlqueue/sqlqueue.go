// Package sqlqueue keeps job queues in tables of an SQLite database, where SQL can query them.
//
//	store, err := sqlqueue.Open(ctx, "app.db", nil)
//	mail, err := store.Queue("mail", nil)
//
// The promises are those of package queue. What is committed with class Synced is committed with
// synchronous = FULL, anything else with NORMAL, which is Flushed; the journal is a write-ahead
// log. Several processes may have the database open.
//
// # Tables
//
//	jobs      queue TEXT, state INTEGER (0 ready, 1 delayed, 2 claimed, 3 dead), rank INTEGER, at INTEGER, id INTEGER,
//	          priority INTEGER, visible_at INTEGER, created_at INTEGER, attempts INTEGER, token INTEGER,
//	          extended INTEGER, payload BLOB (NULL if it stands in payloads)
//	payloads  queue TEXT, id INTEGER, payload BLOB: those of more than 1 kB, and of jobs in specials
//	specials  queue TEXT, id INTEGER, special TEXT: as JSON, what most jobs do not have: max_attempts
//	          (-1 is no limit), timeout in milliseconds, key, key_until
//	failures  queue TEXT, id INTEGER, attempt INTEGER, at INTEGER, error TEXT: the last 10 of each job
//	keys      queue TEXT, name TEXT, id INTEGER (0 if the job is not there any more), until INTEGER
//	schedules queue TEXT, name TEXT, last INTEGER
//	queues    name TEXT, holder INTEGER, last INTEGER
//	jobqueue  one row: format
//
// The key of jobs is (queue, state, rank, at, id): the order of claims, and of delays and leases as
// they end. Times are in milliseconds since 1970. rank is the priority of a ready job and 0
// otherwise; at is since when a job has been ready, or when its delay or lease ends, or 0 of a dead
// one. visible_at is since when a job is or was ready, when its delay ends, or when it died; token
// is that of the claim, and extended is 1 if the claim was. In queues stands up to which id, last,
// the ids were given to the holder, which is an open Store.
//
// Other programs may read the tables. They must not write them.
//
// # Cost
//
// Publish, Claim and Ack of one job are one statement each, which changes one page of the table
// where the queue is short. Nothing is kept twice for that: [queue.Queue.Counts] counts the jobs,
// about 40 ms for each 100,000 of them.
package sqlqueue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// Options is how queues are kept. A nil *Options is the zero Options.
type Options struct {
	queue.Options

	// Pragmas are settings of SQLite for every connection: auto_vacuum, cache_size,
	// journal_size_limit, mmap_size, page_size, temp_store, wal_autocheckpoint.
	Pragmas map[string]string

	// Readers is how many connections count and list at once; 0 is 2.
	Readers int

	// Existing opens only queues that are there, in the format of this program: otherwise Open is
	// NotFound or Unsupported, and nothing is created or changed.
	Existing bool

	// Wait is how long to wait for another process's transaction; 0 is 10 s. A context may end it
	// earlier.
	Wait time.Duration
}

var pragmas = []string{"auto_vacuum", "cache_size", "journal_size_limit", "mmap_size", "page_size", "temp_store", "wal_autocheckpoint"}

func (o *Options) complete() error {
	if o.Readers == 0 {
		o.Readers = 2
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

// Open opens the queues in the SQLite database at path, creating it and its missing folders. The
// store's Close closes it.
func Open(ctx context.Context, path string, opts *Options) (*queue.Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	if path == "" || path == ":memory:" {
		return nil, invalid(errors.New("no path to a file"), "give the path of a file: queues have several connections, which memory does not share")
	}
	path, err := filepath.Abs(path)
	if err == nil && o.Existing {
		if err := existing(ctx, path); err != nil {
			return nil, err
		}
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	b := &backend{path: path, wait: o.Wait, dues: map[string]*due{}, held: map[string]*held{}, self: rand.Int64() | 1}
	if err == nil {
		err = b.open(ctx, &o)
	}
	if err != nil {
		return nil, errors.Join(b.wrap("open queues", err), b.Close())
	}
	store, err := queue.NewStore(b, &o.Options)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return store, nil
}

// existing is the error of queues that are not there, or in another format. It changes nothing.
func existing(ctx context.Context, path string) error {
	missing := &kv.Error{Op: "open queues", Engine: "sqlite", Path: path, Kind: kv.NotFound,
		Hint: "name an SQLite file with the tables of queues"}
	if _, err := os.Stat(path); err != nil {
		missing.Kind, missing.Err = kv.KindOf(err), err
		return missing
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro"}).String())
	if err != nil {
		return err
	}
	defer db.Close()
	var stored int
	if err := db.QueryRowContext(ctx, `SELECT format FROM jobqueue`).Scan(&stored); err != nil {
		missing.Err = err
		return missing
	}
	if stored != format {
		return queue.FormatError(stored, format)
	}
	return nil
}

// open opens the writer, whose connection makes the tables, then the readers.
func (b *backend) open(ctx context.Context, o *Options) error {
	// SQLite: the change to a write-ahead log does not wait for other connections, whatever the
	// timeout.
	err := b.retry(ctx, func() (err error) {
		b.writer, err = connectWriter(b.path, o)
		return err
	})
	if err != nil {
		return err
	}
	b.level = "FULL"
	if err := b.prepare(&b.begin, `BEGIN IMMEDIATE`, &b.commit, `COMMIT`, &b.rollback, `ROLLBACK`); err != nil {
		return err
	}
	if err := b.transaction(ctx, kv.Synced, b.create); err != nil {
		return err
	}
	if err := b.prepareWriter(); err != nil {
		return err
	}
	if b.readers, err = sql.Open("sqlite", dsn(b.path, o, "query_only(1)", fmt.Sprintf("busy_timeout(%d)", o.Wait.Milliseconds()))); err != nil {
		return err
	}
	b.readers.SetMaxOpenConns(o.Readers)
	b.readers.SetMaxIdleConns(o.Readers)
	return b.prepareReaders()
}

// connectWriter opens the writer's connection. SQLite: the size of a page is fixed once the journal
// mode was set.
func connectWriter(path string, o *Options) (*conn, error) {
	c, err := connect(path)
	if err != nil {
		return nil, err
	}
	for name, value := range o.Pragmas {
		err = errors.Join(err, c.exec("PRAGMA "+name+" = "+value))
	}
	journal := ""
	for _, pragma := range []string{"fullfsync = 1", "checkpoint_fullfsync = 1", "synchronous = FULL", "journal_mode = WAL"} {
		if err == nil {
			err = c.query("PRAGMA "+pragma, func(r row) { journal = string(r.blob(0)) })
		}
	}
	if err == nil && journal != "wal" { // SQLite: a mode that it cannot set is no error
		err = &kv.Error{Kind: kv.Unsupported, Err: fmt.Errorf("journal_mode is %s, not wal", journal), Hint: "use a local file system"}
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// dsn names the database with what every reader's connection must set: a pragma that was run on a
// pool holds on one connection.
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
