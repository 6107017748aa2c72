// Package sqlqueue keeps job queues in tables of an SQLite database, where SQL can query them.
//
//	store, err := sqlqueue.Open(ctx, "app.db", nil)
//	mail, err := store.Queue("mail", nil)
//
// The promises are those of package queue. What is committed with class Synced is committed with
// synchronous = FULL, anything else with NORMAL, which is Flushed; the journal is a write-ahead
// log. Several processes may have the database open. After a commit that the disk failed, which is
// in doubt, an open store commits nothing more: open it again.
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
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/sqlite"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
)

// Options is how queues are kept. A nil *Options is the zero Options.
type Options struct {
	queue.Options

	// Pragmas are settings of SQLite for every connection: auto_vacuum, cache_size,
	// journal_size_limit, mmap_size, page_size, temp_store, wal_autocheckpoint.
	Pragmas map[string]string

	// Driver names the driver of database/sql that opens the file: "sqlite", which is
	// modernc.org/sqlite, if it is empty; "sqlite-c" is SQLite in C, of a program that imports
	// package sqlite/sqldriver. One process must not open the same file by two drivers: each drops
	// the locks of the other.
	Driver string

	// Readers is how many connections count and list at once; 0 is 2.
	Readers int

	// Existing opens only queues that are there, in the format of this program: otherwise Open is
	// NotFound or Unsupported, and nothing is created or changed.
	Existing bool

	// Wait is how long to wait for another process's transaction; 0 is 10 s. A context may end it
	// earlier.
	Wait time.Duration
}

// Open opens the queues in the SQLite database at path, creating it and its missing folders. The
// store's Close closes it.
func Open(ctx context.Context, path string, opts *Options) (*queue.Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Existing {
		if err := existing(ctx, cmp.Or(o.Driver, sqlite.PureGo), path); err != nil {
			return nil, err
		}
	}
	b := &backend{dues: intables.Dues{}, held: map[string]*held{}, self: rand.Int64() | 1}
	b.file = sqlite.File{Path: path, Driver: o.Driver, Pragmas: o.Pragmas, Readers: o.Readers, Wait: o.Wait}
	if err := b.file.Complete("open queues", 2); err != nil {
		return nil, err
	}
	if err := b.open(ctx); err != nil {
		return nil, errors.Join(b.wrap("open queues", err), b.Close())
	}
	store, err := queue.NewStore(b, &o.Options)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return store, nil
}

// existing is the error of queues that are not there, or in another format. It changes nothing.
func existing(ctx context.Context, driver, path string) error {
	missing := &kv.Error{Op: "open queues", Engine: "sqlite", Path: path, Kind: kv.NotFound,
		Hint: "name an SQLite file with the tables of queues"}
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		missing.Kind, missing.Err = kv.KindOf(err), err
		return missing
	}
	end := sqlite.Look(path)
	db, err := sql.Open(driver, sqlite.URL(path, "mode=ro"))
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(db.Close(), end()) }() // nothing was written
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
func (b *backend) open(ctx context.Context) error {
	// SQLite: the change to a write-ahead log does not wait for other connections, whatever the
	// timeout.
	err := b.file.Retry(ctx, func() (err error) {
		b.writer, err = connectWriter(&b.file)
		return err
	})
	if err != nil {
		return err
	}
	if err := b.prepare(&b.begin, `BEGIN IMMEDIATE`, &b.commit, `COMMIT`, &b.rollback, `ROLLBACK`); err != nil {
		return err
	}
	if err := b.transaction(ctx, kv.Synced, b.create); err != nil {
		return err
	}
	if err := b.prepareWriter(); err != nil {
		return err
	}
	if b.readers, err = b.file.OpenReaders(); err != nil {
		return err
	}
	return b.prepareReaders()
}

// connectWriter opens the writer's connection. SQLite: the size of a page is fixed once the journal
// mode was set.
func connectWriter(f *sqlite.File) (writer, error) {
	if f.Driver != sqlite.PureGo {
		return openSession(f)
	}
	c, err := connect(f.Path)
	if err != nil {
		return nil, err
	}
	for name, value := range f.Pragmas {
		err = errors.Join(err, c.exec("PRAGMA "+name+" = "+value))
	}
	journal := ""
	for _, pragma := range []string{"fullfsync = 1", "checkpoint_fullfsync = 1", "synchronous = FULL",
		"journal_mode = WAL"} {
		if err == nil {
			err = c.query("PRAGMA "+pragma, func(r row) { journal = string(r.blob(0)) })
		}
	}
	if err == nil && journal != "wal" { // SQLite: a mode that it cannot set is no error
		err = &kv.Error{Kind: kv.Unsupported, Err: fmt.Errorf("journal_mode is %s, not wal", journal),
			Hint: "use a local file system"}
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}
