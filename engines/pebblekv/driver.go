// Package pebblekv is the engine "pebble": CockroachDB's Pebble, a log-structured merge tree in a
// folder.
//
// A write goes to a log and to a table in memory; tables are written out sorted and merged in the
// background, which makes random writes cheap and costs a few goroutines and several copies of the
// data over time. The whole key space is the engine's: a Pebble store of another program opens as
// it is, if it was made with Pebble's default Comparer.
//
// Durability: Synced commits wait for the log's fsync and share it when several run at once. Pebble
// has nothing between that and Buffered, whose records wait in the memory of the process, so
// Flushed delivers Synced. Close loses nothing of any class. As in Pebble a commit is visible to
// readers a little before its sync has returned.
//
// Waiting: a commit waits when the tables in memory are full (MemTableStopWritesThreshold) or level
// 0 is too deep (L0StopWritesThreshold), until Pebble has written a table out or merged some: as
// long as the disk takes for that, whatever the context says. Nothing else waits.
//
// Locks: one process has the folder, in mode ro too.
//
// Ours, not Pebble's, is the fence (fence.go; Fence=false is Pebble without it): Pebble ends the
// process or waits for ever when a write fails, on a full disk for example. Behind the fence the
// first failed write ends the store's commits instead. Those that were running return the cause
// (Full on a full disk) and are in doubt, later ones are Stopped; reads go on and may show those in
// doubt, each as a whole. Opening the store again brings back all that was acknowledged as synced.
package pebblekv

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens Pebble stores. The zero value is ready to use.
type Driver struct {
	options *pebble.Options // of Open; nil reads the URL's parameters
}

var _ driver.Driver = Driver{}

// Info describes the engine.
func (Driver) Info() driver.Info {
	return driver.Info{
		Name:    "pebble",
		Summary: "log-structured merge tree in a folder, one process (CockroachDB's Pebble)",
		Modules: []string{"github.com/cockroachdb/pebble/v2"},
		Options: options,
		Caps:    capabilities(false),
	}
}

// capabilities tells what a store can do, with or without a log.
func capabilities(noLog bool) driver.Caps {
	caps := driver.Caps{
		PureGo:     true,
		Persistent: true,
		Folder:     true,
		Modes:      []driver.Mode{driver.Exclusive, driver.ReadOnly},
		Promises: [3]driver.Promise{
			driver.Synced:   {Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true},
			driver.Flushed:  {Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true},
			driver.Buffered: {Supported: true, Class: driver.Buffered, Intact: true, KillAtomic: true, PowerAtomic: true},
		},
		ConcurrentApply: true,
		TxnLimit:        true, // 4 GiB, see maxBatch
		Compression:     []string{"none", "snappy", "zstd", "minlz"},
		Compacts:        true,
		Checks:          true,
	}
	if noLog {
		// Tables are written in the order of the commits and each as a whole: what a crash leaves
		// is a prefix.
		caps.Promises[driver.Synced] = driver.Promise{}
		caps.Promises[driver.Flushed] = driver.Promise{}
	}
	return caps
}

// Open opens the store in the folder c.Path.
func (d Driver) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	o, err := read(d.options, c.Params)
	if err != nil {
		return nil, err
	}
	return open(c, o)
}

func open(c driver.Config, o *settings) (driver.Store, error) {
	o.ReadOnly = c.Mode == driver.ReadOnly
	fence, err := o.complete(c.Logger)
	if err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		if err := driver.MakeDirs(c.Path); err != nil {
			return nil, err
		}
	}
	path, err := filepath.EvalSymlinks(c.Path) // Pebble's lock knows by its name only what this process has open
	if err != nil {
		return nil, err
	}
	if fence != nil {
		fence.folder = path
	}
	db, err := openDB(path, o)
	if failed := fence.failed(); err == nil && failed != nil { // which Pebble does not know
		err = errors.Join(failed, db.Close())
	}
	if err != nil {
		return nil, classifyOpen(err)
	}
	o.format = uint64(db.FormatMajorVersion())
	return newStore(store{db: db, o: o, fence: fence}, o.DisableWAL, o.ReadOnly), nil
}

// openDB opens the folder. A store that exists keeps its format unless a newer one was asked for; a
// new one gets the newest.
func openDB(path string, o *settings) (db *pebble.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, &driver.Error{Op: "open", Kind: driver.Corrupt, Err: fmt.Errorf("pebble panics: %v", r)}
		}
	}()
	found, err := pebble.Peek(path, o.FS)
	switch {
	case err != nil:
		return nil, err
	case o.ReadOnly && !found.Exists:
		return nil, &driver.Error{Op: "open", Kind: driver.NoStore, Err: fmt.Errorf("%s holds no store", path)}
	case o.FormatMajorVersion == pebble.FormatDefault && found.Exists:
		o.FormatMajorVersion = found.FormatMajorVersion
	case o.FormatMajorVersion == pebble.FormatDefault:
		o.FormatMajorVersion = pebble.FormatNewest
	}
	return pebble.Open(path, &o.Options)
}
