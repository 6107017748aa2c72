package sqltable

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the database/sql driver "sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/detect"
	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(tables{}) }

// options are those of a URL.
type options struct{ tables string }

var optionTable = driver.Table[options]{
	driver.Text("tables", "TABLE(KEY):VALUE ...", "which rows are pairs; see the package's page",
		func(o *options) *string { return &o.tables }).WithDefault("all"),
}

// tables is the driver.
type tables struct{}

var caps = func() driver.Caps {
	c := driver.Caps{PureGo: true, Persistent: true, Modes: []driver.Mode{driver.Shared, driver.ReadOnly},
		SharedReading:       true,
		Checks:              true,
		ReadersBlockWriters: driver.Always, WritersBlockReaders: driver.Sometimes} // outside of WAL
	for d := range c.Promises { // every commit is synced
		c.Promises[d] = driver.Promise{Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true,
			PowerAtomic: true}
	}
	return c
}()

// Info describes the driver.
func (tables) Info() driver.Info {
	return driver.Info{Name: "sqltable", Summary: "rows of SQLite tables, to be moved",
		Modules: []string{"modernc.org/sqlite"},
		Options: optionTable.Options(options{}), Caps: caps, Forms: true}
}

// Open opens the tables, and makes them in a file that is not there or empty.
func (tables) Open(ctx context.Context, c driver.Config) (_ driver.Store, err error) {
	var o options
	if err := optionTable.Read(c.Params, &o); err != nil {
		return nil, err
	}
	wanted, err := ParseTables(o.tables)
	if err != nil {
		return nil, err
	}
	mode := "ro"
	if c.Mode != driver.ReadOnly {
		mode = "rw"
		if len(wanted) > 0 {
			mode = "rwc"
			if err := driver.MakeDirs(filepath.Dir(c.Path)); err != nil {
				return nil, err
			}
		}
	}
	if _, err := os.Stat(c.Path); errors.Is(err, fs.ErrNotExist) && mode != "rwc" {
		return nil, &driver.Error{Kind: driver.NoStore, Err: err}
	}
	db, err := sql.Open("sqlite", fileURL(c.Path, "mode="+mode+"&_pragma=busy_timeout(0)&_pragma=synchronous(FULL)"))
	if err != nil {
		return nil, err
	}
	s := &store{db: db, path: c.Path, looked: func() error { return nil }}
	if mode == "ro" {
		s.looked = driver.LookAtSQLite(c.Path, func() error { return removeLog(c.Path) })
	}
	if err := s.open(ctx, wanted, mode == "rwc"); err != nil {
		return nil, errors.Join(foreign(c.Path, err), s.Close())
	}
	return s, nil
}

// foreign returns err, of opening path, with its kind, or another one if that is no file of SQLite.
// One of SQLite's must not be opened and closed beside it, which drops the locks that this process
// has on it.
func foreign(path string, err error) error {
	info, serr := os.Stat(path)
	var coded interface{ Code() int }
	if !errors.As(err, &coded) || coded.Code() != lib.SQLITE_NOTADB && (serr != nil || !info.IsDir()) {
		return classed(err)
	}
	if found, derr := detect.Path(path); derr == nil && found.Engine != "sqlite" {
		return invalid("open it as "+found.Engine+":"+path, "a store of %s, not of SQLite", found.Engine)
	}
	if serr == nil && info.IsDir() {
		return invalid("name a file", "SQLite keeps its tables in a file, and this is a folder")
	}
	return classed(err)
}

// fileURL names the file at an absolute path as SQLite does.
func fileURL(path, query string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // file:///C:/dir/name
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query}).String()
}

var kinds = map[int]driver.Kind{
	lib.SQLITE_PERM: driver.Permission, lib.SQLITE_BUSY: driver.Busy, lib.SQLITE_LOCKED: driver.Busy,
	lib.SQLITE_READONLY: driver.NotWritable,
	lib.SQLITE_CORRUPT:  driver.Corrupt, lib.SQLITE_NOTADB: driver.Corrupt, lib.SQLITE_FULL: driver.Full,
	lib.SQLITE_TOOBIG: driver.TooLarge,
	lib.SQLITE_ERROR:  driver.Invalid, lib.SQLITE_CONSTRAINT: driver.Invalid, lib.SQLITE_MISMATCH: driver.Invalid,
}

// classed gives an error of SQLite its kind.
func classed(err error) error {
	var coded interface{ Code() int }
	if !errors.As(err, &coded) {
		return err
	}
	var known *kv.Error
	if kind, ok := kinds[coded.Code()&0xff]; ok && !errors.As(err, &known) {
		return &driver.Error{Kind: kind, Err: err}
	}
	return err
}
