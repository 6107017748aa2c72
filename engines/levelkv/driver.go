// Package levelkv is the engine "leveldb": goleveldb, LevelDB written in Go, a log-structured merge
// tree in a folder.
//
// A write goes to a log, which goleveldb calls the journal, and to a table in memory; tables are
// written out sorted and merged in the background. The whole key space is the engine's: a LevelDB
// store of another program opens as it is, if its comparer is LevelDB's own.
//
// Durability: Synced commits wait for the journal's fsync and share it when several run at once. A
// commit without it is one write call, so that the kernel has it when the commit returns: that is
// Flushed. Buffered delivers Flushed. After a power loss Flushed commits may be missing in the
// middle: goleveldb does not sync a journal when it begins the next one, and on opening it skips
// what is damaged in a journal and replays what follows.
//
// Waiting: a commit waits when the table in memory is full, until the one before is written out,
// and when level 0 has too many tables (WriteL0PauseTrigger), until some are merged: as long as the
// disk takes for that, whatever the context says. Nothing else waits. Compact cannot be
// interrupted.
//
// Locks: one process alone may write (Exclusive); several may read (ReadOnly), each with the
// journal's records in its own memory.
//
// Ours, not goleveldb's, are three repairs, which cost a sync per opening. A manifest is synced
// before CURRENT names it, and after a write or sync that failed none is tried again (files.go):
// reads go on, later commits are Stopped, and opening the store again brings back all that was
// acknowledged. A folder in which a process died while it created a store opens (unborn.go). And
// commits larger than WriteBuffer go through the journal as all others: goleveldb's way of writing
// them into tables at once, DisableLargeBatchTransaction=false, hangs when the disk fails.
package levelkv

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens LevelDB stores. The zero value is ready to use.
type Driver struct {
	options *opt.Options // of Open; nil reads the URL's parameters
}

var _ driver.Driver = Driver{}

// Info describes the engine.
func (Driver) Info() driver.Info {
	return driver.Info{
		Name:    "leveldb",
		Summary: "log-structured merge tree in a folder, one writing process (goleveldb, LevelDB in Go)",
		Modules: []string{"github.com/syndtr/goleveldb"},
		Options: options,
		Caps:    capabilities(false),
	}
}

// capabilities tells what a store can do; with noSync nothing is ever synced.
func capabilities(noSync bool) driver.Caps {
	flushed := driver.Promise{Supported: true, Class: driver.Flushed, KillAtomic: true}
	caps := driver.Caps{
		PureGo:     true,
		Persistent: true,
		Folder:     true,
		Modes:      []driver.Mode{driver.Exclusive, driver.ReadOnly},

		SharedReading: true,
		Promises: [3]driver.Promise{
			driver.Synced:   {Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true},
			driver.Flushed:  flushed,
			driver.Buffered: flushed,
		},
		ConcurrentApply: true,
		Compression:     []string{"none", "snappy"},
		Compacts:        true,
		Checks:          true,
	}
	if noSync {
		caps.Promises[driver.Synced] = driver.Promise{}
	}
	return caps
}

// Open opens the store in the folder c.Path.
func (d Driver) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	var o opt.Options
	if d.options != nil {
		o = *d.options
	} else if err := table.Read(c.Params, &o); err != nil {
		return nil, err
	}
	o.ReadOnly = c.Mode == driver.ReadOnly
	info, err := os.Stat(c.Path)
	switch {
	case err == nil && !info.IsDir():
		return nil, &driver.Error{Op: "open", Kind: driver.Corrupt, Err: fmt.Errorf("%s is a file", c.Path),
			Hint: "leveldb keeps a store in a folder: name a folder"}
	case !o.ReadOnly:
		err = driver.MakeDirs(c.Path)
	}
	if err != nil {
		return nil, err
	}
	disk, err := storage.OpenFile(c.Path, o.ReadOnly)
	if err != nil {
		return nil, lockFailure(err)
	}
	return open(disk, c.Path, &o)
}

// open opens the store in files of the caller's choice, whose lock is held.
func open(disk storage.Storage, path string, o *opt.Options) (*store, error) {
	f := &files{Storage: disk, noSync: o.NoSync}
	db, err := openLocked(f, path, o)
	if err != nil {
		return nil, errors.Join(classify(err), f.Close())
	}
	return &store{db: db, files: f, o: o, caps: capabilities(o.NoSync)}, nil
}

// openLocked opens the folder whose lock is held. A folder that holds data and lost CURRENT, or the
// manifest that it names, is refused, never begun anew.
func openLocked(f *files, path string, o *opt.Options) (db *leveldb.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, &driver.Error{Op: "open", Kind: driver.Corrupt, Err: fmt.Errorf("goleveldb panics: %v", r)}
		}
	}()
	data, err := f.List(storage.TypeJournal | storage.TypeTable)
	if err == nil && len(data) == 0 && !o.ReadOnly {
		err = removeUnborn(f, path)
	}
	if err != nil {
		return nil, err
	}
	begin := *o
	begin.ErrorIfMissing = o.ErrorIfMissing || len(data) > 0
	begin.DisableLargeBatchTransaction = true // v1.0.0: one that fails keeps the lock of the writers, and Close hangs
	return leveldb.Open(f, &begin)
}
