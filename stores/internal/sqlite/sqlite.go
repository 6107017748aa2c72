// Package sqlite is what stores in tables of an SQLite database have in common: the file, its
// settings, waiting for other processes, and errors.
package sqlite

import (
	"cmp"
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

	_ "modernc.org/sqlite" // the database/sql driver "sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// PureGo is the driver of database/sql that this package brings, modernc.org/sqlite.
const PureGo = "sqlite"

// File is a database, as the options of a store describe it.
type File struct {
	Path    string
	Driver  string            // of database/sql; "" is PureGo
	Pragmas map[string]string // settings of every connection
	Readers int               // connections that read at once
	Wait    time.Duration     // for another process's transaction
	Pause   time.Duration     // of Retry, the longest; 0 is 20 milliseconds

	level   string // of synchronous on the connection that writes
	stopped error  // why that commits no more
}

var pragmas = []string{"auto_vacuum", "cache_size", "journal_size_limit", "mmap_size", "page_size", "temp_store",
	"wal_autocheckpoint"}

// Complete checks f, sets what is zero to its default (readers; kv.DefaultWait), makes the path
// absolute and the folders above it. What is wrong is Invalid, of the operation op.
func (f *File) Complete(op string, readers int) error {
	if f.Readers == 0 {
		f.Readers = readers
	}
	if f.Wait == 0 {
		f.Wait = kv.DefaultWait
	}
	f.Driver = cmp.Or(f.Driver, PureGo)
	if known := sql.Drivers(); !slices.Contains(known, f.Driver) {
		return Invalid(op, fmt.Errorf("there is no driver %q of database/sql (forgotten import?)", f.Driver),
			"valid are sqlite, and sqlite-c of a program that imports sqlite/sqldriver")
	}
	if f.Readers < 0 || f.Wait < 0 {
		return Invalid(op, fmt.Errorf("options Readers %d, Wait %v", f.Readers, f.Wait),
			"give a positive number, or 0 for the default")
	}
	for name, value := range f.Pragmas {
		if !slices.Contains(pragmas, name) {
			return Invalid(op, fmt.Errorf("unknown pragma %q", name), "valid are "+strings.Join(pragmas, ", "))
		}
		if value == "" || strings.Trim(value, "-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return Invalid(op, fmt.Errorf("pragma %s: value %q", name, value), "give a word or a number")
		}
	}
	if f.Path == "" || f.Path == ":memory:" {
		return Invalid(op, errors.New("no path to a file"),
			"give the path of a file: there are several connections, which memory does not share")
	}
	path, err := filepath.Abs(f.Path)
	if err == nil {
		f.Path = path
		err = driver.MakeDirs(filepath.Dir(path))
	}
	return f.Wrap(op, err)
}

// Invalid is the error of wrong options.
func Invalid(op string, err error, hint string) error {
	return &kv.Error{Op: op, Engine: "sqlite", Kind: kv.Invalid, Err: err, Hint: hint}
}

// DSN names the database with what every connection must set: a pragma that was run on a pool holds
// on one connection. The driver runs the pragmas in the order of the alphabet, then sets the
// journal mode, after which the size of a page is fixed.
func (f *File) DSN(session ...string) string {
	query := url.Values{}
	for name, value := range f.Pragmas {
		query.Add("_pragma", name+"("+value+")")
	}
	query.Set("_journal_mode", "WAL")
	query.Add("_pragma", "fullfsync(1)") // macOS: otherwise a sync ends in the drive's cache
	query.Add("_pragma", "checkpoint_fullfsync(1)")
	for _, p := range session {
		query.Add("_pragma", p)
	}
	return URL(f.Path, query.Encode())
}

// URL names the file at an absolute path as SQLite does, with parameters.
func URL(path, query string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // file:///C:/dir/name
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query}).String()
}

// OpenReaders returns the connections that read, of which none is open yet.
func (f *File) OpenReaders() (*sql.DB, error) {
	db, err := sql.Open(f.Driver, f.DSN("query_only(1)", fmt.Sprintf("busy_timeout(%d)", f.Wait.Milliseconds())))
	if err == nil {
		db.SetMaxOpenConns(f.Readers)
		db.SetMaxIdleConns(f.Readers)
	}
	return db, err
}

// SetLevel has exec, which is of the connection that writes, set synchronous for commits of class d
// unless it is set. SQLite: it is fixed once a transaction begins. After a commit that is in doubt
// there is no other: see Committed.
func (f *File) SetLevel(d kv.Durability, exec func(query string) error) error {
	if f.stopped != nil {
		return &kv.Error{Kind: kv.Stopped, Err: f.stopped, Hint: "close it, open it again, and look"}
	}
	level := "NORMAL"
	if d == kv.Synced {
		level = "FULL"
	}
	if level == f.level {
		return nil
	}
	err := exec("PRAGMA synchronous = " + level)
	if err == nil {
		f.level = level
	}
	return err
}

// Committed returns err, which ended a COMMIT, or a statement that is a transaction of its own, on
// the connection that writes. Where the disk failed it is in doubt: the commit may stand in the log
// as a whole. And earlier ones that were not synced may be lost before it: what is committed behind
// that hole would be lost, too. So nothing more is.
func (f *File) Committed(err error) error {
	switch Code(err) {
	case lib.SQLITE_IOERR, lib.SQLITE_CORRUPT, lib.SQLITE_NOMEM:
		f.stopped = err
		return &kv.Error{Kind: kv.InDoubt, Err: err,
			Hint: "it may be there or not: close it, open it again, and look"}
	}
	return err
}

// Joins returns the class of a transaction of the program's, which must be one of the same file: it
// is what its connection is set to.
func (f *File) Joins(tx *sql.Tx) (d kv.Durability, err error) {
	ctx := context.Background()
	var path string
	var level int
	err = tx.QueryRowContext(ctx, `SELECT file, (SELECT synchronous FROM pragma_synchronous) FROM pragma_database_list
		WHERE name = 'main'`).Scan(&path, &level)
	if err != nil {
		return d, err
	}
	theirs, err := os.Stat(path)
	if err != nil {
		return d, err
	}
	ours, err := os.Stat(f.Path)
	if err != nil {
		return d, err
	}
	if !os.SameFile(theirs, ours) {
		return d, &kv.Error{Kind: kv.Invalid, Err: fmt.Errorf("it is a transaction of %s", path),
			Hint: "give a transaction of " + f.Path}
	}
	if level >= 2 { // FULL or EXTRA
		return kv.Synced, nil
	}
	return kv.Flushed, nil
}

// Retry runs try again while another process holds a lock, for as long as f.Wait.
func (f *File) Retry(ctx context.Context, try func() error) error {
	var deadline time.Time
	longest := cmp.Or(f.Pause, 20*time.Millisecond)
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, longest) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := try()
		if kinds[Code(err)] != kv.Busy {
			return err
		}
		if now := time.Now(); deadline.IsZero() {
			deadline = now.Add(f.Wait)
		} else if now.After(deadline) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// Wrap makes err an error of kv.
func (f *File) Wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	wrapped := kv.Error{Kind: KindOf(err), Err: err}
	var e *kv.Error
	if errors.As(err, &e) {
		wrapped = *e
	}
	wrapped.Op, wrapped.Engine, wrapped.Path = op, "sqlite", f.Path
	if wrapped.Kind == kv.Busy && wrapped.Hint == "" {
		wrapped.Hint = "another process is writing: end it, or set Options.Wait higher"
	}
	return &wrapped
}

// coded is an error of SQLite, with its extended result code.
type coded interface {
	error
	Code() int
}

// Code returns the primary result code of an error of SQLite, 0 of another.
func Code(err error) int {
	var e coded
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

var kinds = map[int]kv.Kind{
	lib.SQLITE_PERM: kv.Permission, lib.SQLITE_AUTH: kv.Permission, lib.SQLITE_BUSY: kv.Busy,
	lib.SQLITE_LOCKED:   kv.Busy,
	lib.SQLITE_READONLY: kv.NotWritable, lib.SQLITE_INTERRUPT: kv.Canceled, lib.SQLITE_CORRUPT: kv.Corrupt,
	lib.SQLITE_NOTADB: kv.Corrupt, lib.SQLITE_FULL: kv.Full, lib.SQLITE_TOOBIG: kv.TooLarge,
}

// KindOf returns what kind of error of kv err is.
func KindOf(err error) kv.Kind {
	if code := Code(err); code != 0 {
		return kinds[code]
	}
	if errors.Is(err, sql.ErrConnDone) {
		return kv.Closed
	}
	return kv.KindOf(err)
}
