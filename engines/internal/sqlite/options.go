package sqlite

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// Options are SQLite's pragmas and its URI parameter immutable, under their own names, and the
// table that holds the pairs. In each field the zero value is what SQLite, or this package, does by
// itself.
type Options struct {
	JournalMode       string // "WAL" (the default) or "DELETE"; another program's database keeps its own by default
	Synchronous       string // "OFF", "NORMAL", "FULL" or "EXTRA" for all commits; "" is by the class of each
	PageSize          int    // of a new database, in bytes
	CacheSize         int    // of each connection, in pages; negative in KiB
	MmapSize          int64  // bytes of the file that are read through a memory map
	WALAutocheckpoint int    // pages of log at which a commit copies it into the database
	Immutable         bool   // with kv.ReadOnly: nobody writes meanwhile, so use no locks and no companion files

	// Table is a table of an existing database, Key and Value its columns; see the package comment.
	// "" is the package's own.
	Table, Key, Value string
}

var table = driver.Table[Options]{
	driver.OneWord("journal_mode", "write-ahead log, or rollback journal (fewer files; readers and writers wait)",
		func(o *Options) *string { return &o.JournalMode }, "WAL", "DELETE").WithDefault("WAL"),
	driver.OneWord("synchronous", "how all commits sync; classes that it does not deliver are refused",
		func(o *Options) *string { return &o.Synchronous }, levels...).WithDefault("by class"),
	driver.Whole("page_size", "bytes", 512, "page size of a new database, a power of two up to 65536",
		func(o *Options) *int { return &o.PageSize }).WithDefault("4096"),
	driver.Whole("cache_size", "pages, or -KiB", -1<<31, "page cache of each connection",
		func(o *Options) *int { return &o.CacheSize }).WithDefault("-2000"),
	driver.Whole("mmap_size", "bytes", 0, "how much of the file is read through a memory map",
		func(o *Options) *int64 { return &o.MmapSize }),
	driver.Whole("wal_autocheckpoint", "pages", 1, "size of the log at which a commit copies it into the database",
		func(o *Options) *int { return &o.WALAutocheckpoint }).WithDefault("1000"),
	driver.Bool("immutable", "with mode=ro: nobody writes meanwhile, so use no locks and no companion files",
		func(o *Options) *bool { return &o.Immutable }),
	driver.Text("Table", "name", "a table of another program's database, which is used as it is",
		func(o *Options) *string { return &o.Table }).WithDefault("the engine's own"),
	driver.Text("Key", "name", "the column of that table that holds the keys",
		func(o *Options) *string { return &o.Key }).WithDefault("k"),
	driver.Text("Value", "name", "the column of that table that holds the values",
		func(o *Options) *string { return &o.Value }).WithDefault("v"),
}

// The pragmas among the options: set before a new database gets its first page, and on every
// connection.
const creation = "page_size"

var session = []string{"cache_size", "mmap_size"}

// fullSync is for macOS, where fsync leaves data in the disk's cache and only F_FULLFSYNC empties
// it.
var fullSync = map[string][]driver.Setting{
	"darwin": {{Name: "fullfsync", Value: "1"}, {Name: "checkpoint_fullfsync", Value: "1"}},
}[runtime.GOOS]

// check refuses what cannot be together.
func (o *Options) check(readOnly bool) error {
	switch {
	case o.Immutable && !readOnly:
		return &driver.Error{Kind: driver.Invalid, Err: errors.New("immutable without mode=ro"), Hint: "add mode=ro"}
	case o.Table == "" && o.Key+o.Value != "":
		return &driver.Error{Kind: driver.Invalid, Err: errors.New("the options Key and Value say nothing without Table"), Hint: "add Table=NAME"}
	}
	return nil
}

// given lists the options in o that are not left to SQLite: those named, or all.
func (o *Options) given(names ...string) (list []driver.Setting) {
	var none Options
	if *o == none {
		return nil
	}
	for _, f := range table {
		if v := f.Get(o); v != f.Get(&none) && (names == nil || slices.Contains(names, f.Name)) {
			list = append(list, driver.Setting{Name: f.Name, Value: v})
		}
	}
	return list
}

// set gives pragmas their values. SQLite: one that it cannot take is no error.
func (c *conn) set(list []driver.Setting) error {
	for _, p := range list {
		if err := c.exec("PRAGMA " + p.Name + " = " + p.Value); err != nil {
			return err
		}
	}
	return c.verify(list)
}

// pragma reads a setting back, in the words of the options.
func (c *conn) pragma(name string) (string, error) {
	value, err := c.text("PRAGMA " + name)
	return strings.ToUpper(value), err
}

// Settings tells SQLite's version and the pragmas in force.
func (s *Store) Settings() (list []driver.Setting) {
	names := append([]string{"journal_mode", creation}, session...)
	for _, p := range fullSync {
		names = append(names, p.Name)
	}
	// What cannot be read is left out: a setting that is not certain is not reported.
	_ = s.reading(context.Background(), func(c *conn) error {
		if v, err := c.text("SELECT sqlite_version()"); err == nil {
			list = append(list, driver.Setting{Name: "sqlite_version", Value: v})
		}
		for _, name := range names {
			if v, err := c.pragma(name); err == nil {
				list = append(list, driver.Setting{Name: name, Value: v})
			}
		}
		return nil
	})
	for _, d := range driver.Durabilities {
		if s.caps.Promise(d).Supported {
			list = append(list, driver.Setting{Name: "synchronous(" + d.String() + ")", Value: s.levelFor(d)})
		}
	}
	list = append(list, driver.Setting{Name: "wal_autocheckpoint", Value: strconv.Itoa(s.options.checkpointAt())})
	return append(list, s.options.given("immutable", "Table", "Key", "Value")...)
}
