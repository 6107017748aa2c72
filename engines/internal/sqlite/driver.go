package sqlite

import (
	"context"
	"path/filepath"

	"github.com/assaydb/assay/kv/driver"
)

// Info describes SQLite, as the engine of the build.
func (l *Library) Info() driver.Info {
	return driver.Info{
		Name:    l.Name,
		Summary: l.Summary,
		Modules: l.Modules,
		Options: optionTable,
		Caps:    l.capsOf(journalWAL, ""),
	}
}

// OpenStore opens or creates the database at c.Path. A file that is not an SQLite database is Corrupt; a database of another
// program is Invalid; a setting that SQLite did not accept is Unsupported.
func (l *Library) OpenStore(ctx context.Context, c driver.Config) (driver.Store, error) {
	o, err := parseOptions(c)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Connections that are opened later must find the file even if the program has changed its folder.
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return nil, err
	}
	created, err := createFile(path, o.readOnly)
	if err != nil {
		return nil, err
	}
	s := &Store{lib: l, path: path, options: o}
	if err := s.open(); err != nil {
		return nil, err
	}
	if created {
		if err := driver.SyncDir(filepath.Dir(path)); err != nil {
			s.closeIdle()
			return nil, err
		}
	}
	return s, nil
}

// maxRow is SQLite's limit of a row, SQLITE_MAX_LENGTH: key and value together. SQLite tells when a pair is too large.
const maxRow = 1_000_000_000

// capsOf tells what a database delivers under a journal mode and the option synchronous ("" if it was not given).
func (l *Library) capsOf(journal, synchronous string) driver.Caps {
	c := driver.Caps{
		PureGo:     l.PureGo,
		Persistent: true,
		Modes:      []driver.Mode{driver.Shared, driver.ReadOnly},
		MaxKey:     maxRow,
		MaxValue:   maxRow,
		Compacts:   true,
		Checks:     true,
	}
	if journal != journalWAL {
		c.ReadersBlockWriters, c.WritersBlockReaders = driver.Always, driver.Always
	}
	for _, d := range driver.Durabilities {
		c.Promises[d] = promise(journal, levelFor(journal, synchronous, d), d)
	}
	return c
}

// levelFor returns the value of synchronous under which commits of class d are made.
func levelFor(journal, synchronous string, d driver.Durability) level {
	switch {
	case synchronous != "":
		return levels[synchronous]
	case d != driver.Synced:
		return levelNormal
	case journal == journalWAL:
		return levelFull
	}
	return levelExtra
}

// promise tells what a commit of class d delivers when it is made under l.
func promise(journal string, l level, d driver.Durability) driver.Promise {
	synced, intact := l >= levelFull, l >= levelNormal
	if journal != journalWAL {
		synced, intact = l >= levelExtra, l >= levelFull
	}
	switch {
	case synced:
		return driver.Promise{Supported: true, Class: driver.Synced, Intact: intact, KillAtomic: true, PowerAtomic: intact}
	case d == driver.Synced:
		return driver.Promise{}
	}
	return driver.Promise{Supported: true, Class: driver.Flushed, Intact: intact, KillAtomic: true, PowerAtomic: intact}
}
