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
// middle, as far as no Synced one follows: goleveldb does not sync a journal when it begins the
// next one, and on opening it skips what is damaged in a journal and replays what follows.
//
// Waiting: a commit waits when the table in memory is full, until the one before is written out,
// and when level 0 has too many tables (WriteL0PauseTrigger), until some are merged: as long as the
// disk takes for that, whatever the context says. Nothing else waits. Compact cannot be
// interrupted.
//
// Locks: one process alone may write (Exclusive); several may read (ReadOnly), each with the
// journal's records in its own memory.
//
// # What is ours
//
// ours_files.go costs a sync per opening: a manifest is synced before CURRENT names it, and after a
// write or sync that failed none is tried again: reads go on, later commits are Stopped, and
// opening the store again brings back all that was acknowledged. The first sync of a journal is one
// of the journal before it, too, if that has Flushed commits. Commits larger than WriteBuffer go
// through the journal as all others: goleveldb's way of writing them into tables at once,
// DisableLargeBatchTransaction=false, hangs when the disk fails.
//
// ours_unborn.go: a folder in which a process died while it created a store opens, and one that
// lost its manifest is refused, never begun anew.
//
// ours_index.go: a transaction reads what it has written.
package levelkv

import (
	"context"
	"errors"

	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens LevelDB stores. The zero value is ready to use.
type Driver struct{ options *opt.Options }

// Info describes the engine.
func (Driver) Info() driver.Info {
	return driver.Info{
		Name:    "leveldb",
		Summary: "log-structured merge tree in a folder, one writing process (goleveldb, LevelDB in Go)",
		Modules: []string{"github.com/syndtr/goleveldb"},
		Options: options,
		Caps:    capabilities,
	}
}

var (
	synced  = driver.Promise{Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true}
	flushed = driver.Promise{Supported: true, Class: driver.Flushed, KillAtomic: true}
)

// capabilities tells what a store can do.
var capabilities = driver.Caps{
	PureGo: true, Persistent: true, Folder: true, SharedReading: true, ConcurrentApply: true,
	Compacts: true, Checks: true,
	Modes:       []driver.Mode{driver.Exclusive, driver.ReadOnly},
	Promises:    [3]driver.Promise{synced, flushed, flushed},
	Compression: []string{"none", "snappy"},
}

// Open opens the store in the folder c.Path.
func (d Driver) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	o, err := read(d.options, c)
	if err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		if err := driver.MakeDirs(c.Path); err != nil {
			return nil, err
		}
	}
	disk, err := storage.OpenFile(c.Path, o.ReadOnly)
	if err != nil {
		return nil, classifyOpen(err)
	}
	return open(&files{Storage: disk, onSync: c.OnSync}, c.Path, o)
}

// open opens the store in files of the caller's choice, whose lock is held.
func open(f *files, path string, o *opt.Options) (*store, error) {
	db, err := openLocked(f, path, o)
	if err != nil {
		return nil, errors.Join(classify(err), f.Close())
	}
	return &store{db: db, files: f, o: o}, nil
}
