package workload

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
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
)

// The engines that are SQLite, in pure Go and through C, which are also the names under which
// database/sql knows their drivers; and mattn's driver.
const (
	pureEngine = "sqlite"
	cEngine    = "sqlite-c"
	cDriver    = "sqlite3"
)

// sqlEvents keeps an event log in tables of an SQLite database.
type sqlEvents struct {
	driver     string // the one that opens it, as database/sql knows it
	path       string
	durability kv.Durability
	options    sqllog.Options
	about      Description
}

// hasTables reports whether a store can have tables of its own on an engine: on SQLite, in pure Go,
// or through C where the driver is in the program.
func hasTables(engine string) bool {
	return engine == pureEngine || engine == cEngine && slices.Contains(sql.Drivers(), cEngine)
}

// inTables reports whether it can with these options.
func inTables(engine, options string) bool {
	if !hasTables(engine) {
		return false
	}
	_, err := newSQLEvents(Env{Engine: engine, Options: options}, sqllog.Options{})
	return err == nil
}

// newSQLEvents takes those of the engine's options that a log in tables has too. Others are
// kv.Unsupported.
func newSQLEvents(env Env, options sqllog.Options) (*sqlEvents, error) {
	options.Driver, options.Pragmas = env.Engine, map[string]string{}
	path, err := filepath.Abs(filepath.Join(env.Dir, "store")) // its name goes into a URL
	if err != nil {
		return nil, &kv.Error{Op: "workload", Engine: env.Engine, Kind: kv.KindOf(err), Err: err,
			Hint: "name the folder in full"}
	}
	s := &sqlEvents{
		driver:     env.Engine,
		path:       path,
		durability: env.Durability,
		options:    options,
	}
	given, err := url.ParseQuery(env.Options)
	if err != nil {
		return nil, &kv.Error{Op: "workload", Engine: env.Engine, Kind: kv.Invalid, Err: err,
			Hint: "write name=value&name=value"}
	}
	for name := range given {
		switch value := given.Get(name); name {
		case "cache_size", "mmap_size", "page_size", "wal_autocheckpoint":
			s.options.Pragmas[name] = value
			continue
		case "journal_mode":
			if strings.EqualFold(value, "WAL") {
				continue
			}
		case "mode":
			if value == kv.Shared.String() {
				continue
			}
		}
		return nil, &kv.Error{Op: "workload", Engine: env.Engine, Kind: kv.Unsupported,
			Err:  fmt.Errorf("option %s=%s in the form sql", name, given.Get(name)),
			Hint: "leave it out, or use the form kv"}
	}
	return s, nil
}

func (s *sqlEvents) create(ctx context.Context, load func(*eventlog.Log) error) (*eventlog.Log, error) {
	log, err := sqllog.Open(ctx, s.path, &s.options)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(load(log), log.Close()); err != nil {
		return nil, err
	}
	start := time.Now()
	if log, err = sqllog.Open(ctx, s.path, &s.options); err != nil {
		return nil, err
	}
	s.about.Open = time.Since(start)
	// sqllog: appends of class Synced are committed with synchronous = FULL, all others with
	// NORMAL, in WAL mode.
	s.about.Promise = kv.Promise{Supported: true, Class: min(s.durability, kv.Flushed), Intact: true}
	if err := s.readSettings(ctx); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// readSettings reads the settings that belong to the file.
func (s *sqlEvents) readSettings(ctx context.Context) error {
	return s.with(ctx, func(c *sql.Conn) error {
		for _, name := range []string{"journal_mode", "page_size"} {
			set := kv.Setting{Name: name}
			if err := c.QueryRowContext(ctx, "PRAGMA "+name).Scan(&set.Value); err != nil {
				return err
			}
			s.about.Settings = append(s.about.Settings, set)
		}
		return nil
	})
}

// with runs fn on a connection beside those of the log.
func (s *sqlEvents) with(ctx context.Context, fn func(*sql.Conn) error) error {
	path := filepath.ToSlash(s.path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // file:///C:/dir/name
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(10000)&_busy_timeout=10000"}
	db, err := sql.Open(s.driver, u.String())
	if err != nil {
		return err
	}
	c, err := db.Conn(ctx)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	return errors.Join(fn(c), c.Close(), db.Close())
}

// Describe tells what the log was when it was created.
func (s *sqlEvents) Describe() Description { return s.about }

// Size returns the space that the database takes, with its log and its index.
func (s *sqlEvents) Size() (kv.Size, error) { return kv.SizeOf(s.path, s.path+"-wal", s.path+"-shm") }

// Compact builds the database anew and empties its log.
func (s *sqlEvents) Compact(ctx context.Context) error {
	return s.with(ctx, func(c *sql.Conn) error {
		for _, statement := range []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
			if _, err := c.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("compact: %s: %w", statement, err)
			}
		}
		return nil
	})
}

// Close does nothing: the log's Close closed the database.
func (s *sqlEvents) Close() error { return nil }
