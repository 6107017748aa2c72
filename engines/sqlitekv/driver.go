// Package sqlitekv keeps a kv store in an SQLite database: a B-tree in one file, with a write-ahead log or a rollback
// journal beside it. It uses modernc.org/sqlite, which is SQLite translated to Go.
//
// Importing it registers the engine "sqlite". All pairs are in one table,
//
//	kv(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID
//
// which every other SQLite program can read. The file is marked by its application_id; a database that is not marked
// and not empty is refused, never written to.
//
// # Durability
//
// With journal_mode=WAL (the default) Synced commits under synchronous=FULL, Flushed under NORMAL: after a power loss
// some of the last Flushed commits may be gone, the rest is whole. With journal_mode=DELETE Synced commits under EXTRA,
// because SQLite: FULL does not sync the folder after it has removed the journal, so the last commit may be rolled back.
// Flushed commits under NORMAL, for which SQLite documents a small chance of damage. Buffered delivers Flushed. The
// option synchronous fixes the setting for all commits; then a class that it does not deliver is refused.
//
// # Locks
//
// Several processes may have the database open. In WAL mode readers and the writer do not wait for each other; in DELETE
// mode a commit waits until no reader is left, and new readers wait for it. Whoever waits, waits for busy_timeout at
// most and then fails with Busy. There is no Exclusive mode: SQLite's locking_mode=EXCLUSIVE allows a single connection,
// hence no View beside an Update, and a lock file of our own would not stop other SQLite programs.
//
// SQLite: locks on Unix belong to the process, so a program must not open and close the database file by other means
// than SQLite while the store is open; that drops the locks.
//
// In ReadOnly mode nothing is written to the database. Its journal_mode is the one that it has. In WAL mode SQLite
// coordinates readers through the files -wal and -shm and creates them if they are missing; in a folder where it cannot,
// opening fails unless immutable=true says that nobody writes meanwhile.
//
// # Speed
//
// The package calls SQLite's C interface as modernc.org/sqlite/lib exports it. Through database/sql every query costs
// about twenty allocations, through this none. Statements are prepared once per connection, on first use.
package sqlitekv

import (
	"context"
	"path/filepath"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens SQLite databases. The zero Driver is ready.
type Driver struct{}

var _ driver.Driver = Driver{}

// Info describes SQLite.
func (Driver) Info() driver.Info {
	return driver.Info{
		Name:    "sqlite",
		Summary: "SQLite's B-tree with write-ahead log or rollback journal, translated to Go; several processes at once",
		Modules: []string{"modernc.org/sqlite"},
		Options: optionTable,
		Caps:    capsOf(journalWAL, ""),
	}
}

// Open opens or creates the database at c.Path. A file that is not an SQLite database is Corrupt; a database of another
// program is Invalid; a setting that SQLite did not accept is Unsupported.
func (Driver) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
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
	s := &Store{path: path, options: o}
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
func capsOf(journal, synchronous string) driver.Caps {
	c := driver.Caps{
		PureGo:              true,
		Persistent:          true,
		Modes:               []driver.Mode{driver.Shared, driver.ReadOnly},
		CrashAtomic:         true,
		ReadersBlockWriters: journal != journalWAL,
		WritersBlockReaders: journal != journalWAL,
		MaxKey:              maxRow,
		MaxValue:            maxRow,
		Compacts:            true,
		Checks:              true,
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
		return driver.Promise{Supported: true, Class: driver.Synced, Intact: intact}
	case d == driver.Synced:
		return driver.Promise{}
	}
	return driver.Promise{Supported: true, Class: driver.Flushed, Intact: intact}
}
