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
// # What is ours
//
// ours_fence.go: Pebble ends the process or waits for ever when a write fails, on a full disk for
// example, and ends it when it meets damage. Behind the fence (Fence=false is Pebble without it)
// the first failed write ends the store's commits instead. Those that were running return the cause
// (Full on a full disk) and are in doubt, later ones are Stopped; reads go on and may show those in
// doubt, each as a whole. Opening the store again brings back all that was acknowledged as synced.
// Without the fence a disk that fails may leave a store that does not open: Pebble leaves a
// compaction running when an Open fails.
//
// ours_open.go: options are judged before anything is made, a new store has the newest format, a
// folder opens once under all its names, and read-only opening leaves nothing behind.
//
// ours_batch.go: a transaction at which Pebble would panic is TooLarge, a range may have no end,
// and a batch serves one transaction after the other.
//
// ours_backup.go: a checkpoint has a manifest.
//
// ours_sums.go: of a store that is only read a large block that is damaged is found without a
// minute's search for the bit that did it.
//
// ours_figures.go: what Pebble counts.
package pebblekv

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens Pebble stores. The zero value is ready to use.
type Driver struct{ options *pebble.Options }

// Info describes the engine.
func (Driver) Info() driver.Info {
	return driver.Info{
		Name:    "pebble",
		Summary: "log-structured merge tree in a folder, one process (CockroachDB's Pebble)",
		Modules: []string{"github.com/cockroachdb/pebble/v2"},
		Options: options, Caps: capabilities,
	}
}

var synced = driver.Promise{Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true}

// capabilities tells what a store can do.
var capabilities = driver.Caps{
	PureGo: true, Persistent: true, Folder: true, ConcurrentApply: true, Compacts: true, Checks: true,
	TxnLimit: true, // 4 GiB, see maxBatch
	Modes:    []driver.Mode{driver.Exclusive, driver.ReadOnly},
	Promises: [3]driver.Promise{synced, synced,
		{Supported: true, Class: driver.Buffered, Intact: true, KillAtomic: true, PowerAtomic: true}},
	Compression: []string{"none", "snappy", "zstd", "minlz"},
}

// Open opens the store in the folder c.Path.
func (d Driver) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	o, err := read(d.options, c)
	if err != nil {
		return nil, err
	}
	fence, err := o.complete(c.Logger)
	if err == nil && !o.ReadOnly {
		err = driver.MakeDirs(c.Path)
	}
	if err != nil {
		return nil, err
	}
	fence.onSync = c.OnSync
	db, err := o.open(c.Path, fence)
	if err != nil {
		return nil, classifyOpen(err)
	}
	return newStore(&store{db: db, o: o, fence: fence}, o.ReadOnly), nil
}
