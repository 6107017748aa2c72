package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

var _ driver.Driver = (*Library)(nil)

// Info describes SQLite, as the engine of the build.
func (l *Library) Info() driver.Info {
	s := Store{lib: l, journal: wal}
	return driver.Info{Name: l.Name, Summary: l.Summary, Modules: l.Modules, Options: table.Options(Options{}), Caps: s.capsNow()}
}

// Open opens or creates the database at c.Path. A file that is not an SQLite database is Corrupt; a database of
// another program is Invalid unless its table is named; a setting that SQLite did not accept is Unsupported.
func (l *Library) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	s := &Store{lib: l, path: c.Path, readOnly: c.Mode == driver.ReadOnly, layout: &own}
	if err := table.Read(c.Params, &s.options); err != nil {
		return nil, err
	}
	if err := s.options.check(s.readOnly); err != nil {
		return nil, err
	}
	created, err := s.createFile()
	if err != nil {
		return nil, err
	}
	if err := s.open(); errors.Is(err, errNotADB) {
		return nil, s.foreign(err)
	} else if err != nil {
		return nil, err
	}
	if l.Opened != nil {
		err = l.Opened(s)
	}
	if created && err == nil {
		err = driver.SyncDir(filepath.Dir(s.path))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenKV is the function Open of a build's package.
func (l *Library) OpenKV(ctx context.Context, path string, o *Options, options ...kv.Option) (*kv.DB, error) {
	c := driver.Config{Path: path, Mode: driver.Shared, Params: map[string]string{}}
	if o != nil {
		for _, s := range o.given() {
			c.Params[s.Name] = s.Value
		}
	}
	return kv.OpenDriver(ctx, l, c, options...)
}

// level is a value of SQLite's synchronous, by its number.
type level int8

const (
	levelUnknown level = iota - 1
	levelOff
	levelNormal
	levelFull // SQLite: the default value of a new connection
	levelExtra
)

var levels = []string{"OFF", "NORMAL", "FULL", "EXTRA"}

func (l level) String() string { return levels[l] }

// wal is the journal mode that differs; the others promise what DELETE does, or less. Those beside DELETE are not on
// offer: TRUNCATE and PERSIST promise less for no gain here, MEMORY and OFF are not crash-atomic.
const wal = "WAL"

// maxRow is SQLite's limit of a row, SQLITE_MAX_LENGTH: key and value together. SQLite tells when a pair is too large.
const maxRow = 1_000_000_000

// capsNow tells what the database delivers under its journal mode and the option synchronous.
func (s *Store) capsNow() driver.Caps {
	c := driver.Caps{
		PureGo:        s.lib.PureGo,
		Persistent:    true,
		Modes:         []driver.Mode{driver.Shared, driver.ReadOnly},
		SharedReading: true,
		MaxKey:        maxRow,
		MaxValue:      maxRow,
		Compacts:      true,
		Checks:        true,
	}
	if s.journal != wal {
		c.ReadersBlockWriters, c.WritersBlockReaders, c.ChecksAlone = driver.Always, driver.Always, true
	}
	for _, d := range driver.Durabilities {
		c.Promises[d] = s.promise(d)
	}
	return c
}

// levelFor returns the value of synchronous under which commits of class d are made.
func (s *Store) levelFor(d driver.Durability) level {
	switch {
	case s.options.Synchronous != "":
		return level(slices.Index(levels, s.options.Synchronous))
	case d != driver.Synced:
		return levelNormal
	case s.journal == wal:
		return levelFull
	}
	return levelExtra
}

// promise tells what a commit of class d delivers.
func (s *Store) promise(d driver.Durability) driver.Promise {
	l := s.levelFor(d)
	if s.journal != wal {
		l-- // each level promises what the one below does for a log
	}
	p := driver.Promise{Supported: true, Class: driver.Flushed, Intact: l >= levelNormal, KillAtomic: true, PowerAtomic: l >= levelNormal}
	switch {
	case l >= levelFull:
		p.Class = driver.Synced
	case d == driver.Synced:
		return driver.Promise{}
	}
	return p
}
