// Package sqlite keeps a kv store in an SQLite database, by any build of SQLite for Go: what a
// store is, what its commits promise, how it waits for locks. A build is a [Library]; the engines
// sqlitekv, sqliteckv and sqlitewasmkv each bring one. Their stores are the same files.
//
// All pairs are in one table,
//
//	kv(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID
//
// which every other SQLite program can read. The file is marked by its application_id; a database
// that is not marked and not empty is refused, never written to, unless its table is named.
//
// # Tables of other programs
//
// The options Table, Key and Value name a table and two of its columns in an existing database,
// which is used as it is. The key's column must have a primary key or UNIQUE index of its own that
// compares bytes (COLLATE BINARY, which is the default), and hold blobs alone or text alone; values
// are written as the type of their column says. A value that is NULL reads as empty. A Put sets
// these two columns: it fails if another one must be given. The database keeps its journal mode
// unless journal_mode is given. Compact, Check, Backup and Size concern the whole database.
//
// # Durability
//
// With journal_mode=WAL (the default) Synced commits under synchronous=FULL, Flushed under NORMAL:
// after a power loss some of the last Flushed commits may be gone, the rest is whole. With
// journal_mode=DELETE Synced commits under EXTRA, because SQLite: FULL does not sync the folder
// after it has removed the journal, so the last commit may be rolled back. Flushed commits under
// NORMAL, for which SQLite documents a small chance of damage. Buffered delivers Flushed. The
// option synchronous fixes the setting for all commits; then a class that it does not deliver is
// refused.
//
// In DELETE mode SQLite removes the journal, and then cuts free pages off the end of the file: see
// [Store.Compact]. Under FULL it does not sync the folder in between, and a power loss may damage
// the file. Compact, which is a VACUUM, therefore runs under EXTRA where commits run under FULL.
// And where another program has set auto_vacuum=FULL, so that any commit may cut, FULL promises no
// more than NORMAL.
//
// # Locks
//
// Several processes may have the database open. In WAL mode readers and the writer do not wait for
// each other; in DELETE mode a commit waits until no reader is left, and new readers wait for it.
// Nothing here waits: a lock that is held, by another process or another connection of this one, is
// Busy, and kv tries again. There is no Exclusive mode: SQLite's locking_mode=EXCLUSIVE allows a
// single connection, hence no View beside an Update, and a lock file of our own would not stop
// other SQLite programs.
//
// SQLite: locks on Unix belong to the process, so a program must not open and close the database
// file by other means than the one build of SQLite that has it open; that drops the locks. Two
// builds in one process are such other means.
//
// In ReadOnly mode nothing is written to the database. Its journal_mode is the one that it has. In
// WAL mode SQLite coordinates readers through the files -wal and -shm and creates them if they are
// missing; in a folder where it cannot, opening fails unless immutable=true says that nobody writes
// meanwhile. They are removed when the store is closed, unless another process has it open then, or
// the file may not be written to. Of two that only read at the same time the one that made them
// removes them, if it is the last.
//
// # After an error
//
// A commit that finds readers (Busy) or no space (Full) is not done. One whose write or sync fails
// otherwise is in doubt: SQLite rolls it back, so that nobody sees it, but it may stand in the log
// as a whole, and be there when the database is opened after a crash. No commit follows through the
// same handle.
//
// Other processes go on: SQLite tells them nothing. What a failed sync would have written the
// system takes for clean, and no later sync writes it. That does no harm to commits that are
// synced, as the next one overwrites one that failed. Commits that are not synced yet are a hole in
// the log then, behind which a power loss ends what is there. Therefore the handle whose sync
// failed writes the log once more and syncs it before the error is returned, and a sync that fails
// in a checkpoint, which SQLite passes over, is an error of the commit that began it.
//
// A process that dies before that repair, or whose repair fails, leaves a hole of which the next
// one knows nothing: a checkpoint would write pages over the database that the log no longer has,
// and a power loss amid it would leave neither. Therefore whoever opens a log that was not closed,
// while nobody else has it open, writes it once more before anything else; one who opens it beside
// others does so before its first checkpoint; and a handle in doubt of its log that cannot mend it,
// or that could not be opened, leaves it behind when it is closed. All of a log that was written
// once more is copied by the next checkpoint: if a sync of the database fails, pages may be lost
// that an earlier one has copied and did not sync, as readers kept it from the end. Each handle
// holds a shared lock (flock) of the log by which others know of it. SQLite has no lock of that
// file, and other programs are kept from nothing.
//
// What is left, where several processes mix Flushed and Synced commits: Synced ones may be lost
// with the power if a process opens the store between a failed sync of another and its repair,
// which waits for other writers no longer than a second, or if there is no repair, because that
// process dies or the disk fails again. Linux tells of a failed sync each process that had the file
// open then: its next sync fails, and it mends the log itself. And a program that is not ours, and
// is the first to open the log after such a death, mends nothing.
//
// # What is ours
//
//   - ours_mark.go: the mark of a store, by which databases of other programs are refused
//   - ours_adopt.go: tables of other programs as stores
//   - ours_file.go: a file for this user only, one that has lost its end, one of another engine
//   - ours_verify.go: settings are read back, as SQLite passes over what it cannot take; a schema
//     without the table is Corrupt
//   - ours_interrupt.go: an interrupt that also ends a statement that has not begun yet
//   - ours_log.go: a log that is written once more after a failed sync, and by who opens it if
//     nobody has closed it; checkpoints that tell. Each build says when one is due, and has one
//     copy all, in a file ours_checkpoint.go
//   - ours_cover.go: a synced commit that changes nothing is synced, for the weaker ones before it
//   - ours_look.go: reading leaves no files
//   - ours_journal.go: who may not write is told whether the one whose journal is there has died
//   - ours_figures.go: what is counted, and whether others have committed
//   - ours_wrap.go: a store in a database that the program has open by database/sql
//
// # The handle
//
// Programs that want SQL beside the store open the same path with the build's own package. SQLite
// has no handle of a database that could be lent, only connections, each for one goroutine and one
// transaction, and a store needs one for every snapshot. So a store that is made of a program's
// pool of connections (Wrap) has its own, to the same file.
package sqlite

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Info describes SQLite, as the engine of the build.
func (l *Library) Info() driver.Info {
	s := Store{lib: l, journal: wal}
	return driver.Info{Name: l.Name, Summary: l.Summary, Modules: l.Modules,
		Options: table.Options(Options{}), Caps: s.capsNow(), Companions: []string{"-wal", "-shm", "-journal"}}
}

// Open opens or creates the database at c.Path. A file that is not an SQLite database is Corrupt; a
// database of another program is Invalid unless its table is named; a setting that SQLite did not
// accept is Unsupported.
func (l *Library) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	s := &Store{lib: l, path: c.Path, readOnly: c.Mode == driver.ReadOnly, layout: own, onSync: c.OnSync}
	if err := table.Read(c.Params, &s.options); err != nil {
		return nil, err
	}
	if err := s.options.check(s.readOnly); err != nil {
		return nil, err
	}
	created, err := s.createFile()
	if err == nil {
		s.path, err = filepath.EvalSymlinks(s.path)
	}
	if err != nil {
		return nil, err
	}
	s.watchLog()
	if err := s.open(); errors.Is(err, errNotADB) {
		return nil, s.foreign(err)
	} else if err != nil {
		return nil, errors.Join(s.abandoned(err), s.looked())
	}
	if err = s.protect(s.marked()); created && err == nil {
		err = s.onSync.Dir(filepath.Dir(s.path))
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

// levels are the values of SQLite's synchronous, by their numbers.
var levels = []string{"OFF", "NORMAL", "FULL", "EXTRA"}

// wal is the journal mode that differs; the others promise what DELETE does, or less. Those beside
// DELETE are not on offer: TRUNCATE and PERSIST promise less for no gain here, MEMORY and OFF are
// not crash-atomic.
const wal = "WAL"

// maxRow is SQLite's limit of a row, SQLITE_MAX_LENGTH: key and value together. SQLite tells when a
// pair is too large.
const maxRow = 1_000_000_000

// capsNow tells what the database delivers under its journal mode and the option synchronous.
func (s *Store) capsNow() driver.Caps {
	c := driver.Caps{
		PureGo:        s.lib.PureGo,
		Persistent:    true,
		Modes:         []driver.Mode{driver.Shared, driver.ReadOnly},
		SharedReading: true,
		MaxKey:        cmp.Or(s.lib.MaxRow, maxRow),
		MaxValue:      cmp.Or(s.lib.MaxRow, maxRow),
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
func (s *Store) levelFor(d driver.Durability) string {
	switch {
	case s.options.Synchronous != "":
		return s.options.Synchronous
	case d != driver.Synced:
		return "NORMAL"
	case s.journal == wal:
		return "FULL"
	}
	return "EXTRA"
}

// promise tells what a commit of class d delivers.
func (s *Store) promise(d driver.Durability) driver.Promise {
	level := slices.Index(levels, s.levelFor(d))
	if s.journal != wal {
		level-- // each level promises what the one below does for a log
		if s.cutsFile && s.levelFor(d) == "FULL" {
			level--
		}
	}
	p := driver.Promise{Supported: true, Class: driver.Flushed, Intact: level > 0, KillAtomic: true,
		PowerAtomic: level > 0}
	switch {
	case level > 1:
		p.Class = driver.Synced
	case d == driver.Synced:
		return driver.Promise{}
	}
	return p
}
