// Package bboltkv keeps a kv store in a bbolt file: a copy-on-write B+tree in one memory-mapped file.
//
// Importing it registers the engine "bbolt". All pairs are in one top-level bucket, "kv", which other programs can open
// with bbolt itself.
//
// # Durability
//
// Synced is bbolt's default: two fdatasync calls per commit. Flushed is a commit under bbolt's NoSync: it survives the
// death of the process; Close syncs nothing, as bbolt's own. Buffered delivers Flushed.
//
// bbolt writes into pages that earlier commits freed. After a Flushed commit, until the next Synced one, a power loss may therefore damage the whole file, Synced commits of earlier included. A store that needs Synced
// commits to be safe at every moment asks for Synced always.
//
// # Damaged files
//
// Where bbolt panics on a damaged page the error is Corrupt. One case is left: bbolt opens a file that was written with
// NoFreelistSync by checking all its pages, in a goroutine that outlives the opening when that has failed, and may then
// crash the process. The driver reads all pairs first, which finds most damage, but not all in branch pages.
//
// # Locks
//
// One process has the file open, or several do in ReadOnly mode. Readers and the writer do not wait for each other,
// with one exception: a commit that must enlarge the memory map waits until every View has ended. Therefore a goroutine
// must not call Update inside View, nor run a View inside Update that outlives it; the option InitialMmapSize, set above
// the largest size of the file, removes the exception.
package bboltkv

import (
	"context"
	"runtime"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens bbolt files. The zero Driver is ready.
type Driver struct{}

var _ driver.Driver = Driver{}

var info = driver.Info{
	Name:    "bbolt",
	Summary: "copy-on-write B+tree in one memory-mapped file; reads are fast, one writer, a commit rewrites pages",
	Modules: []string{"go.etcd.io/bbolt"},
	Options: optionTable,
	Caps:    caps(),
}

// Info describes bbolt.
func (Driver) Info() driver.Info { return info }

// Open opens or creates the file at c.Path. A file that another process has locked is Busy; one that bbolt refuses or
// panics on, or that is shorter than its own header says, is Corrupt.
func (Driver) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	o, err := parseOptions(c)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := openFile(c.Path, o)
	if err != nil {
		return nil, err
	}
	return newStore(c.Path, o, f), nil
}

// caps is what bbolt can do with its default options.
func caps() driver.Caps {
	flushed := driver.Promise{Supported: true, Class: driver.Flushed, KillAtomic: true}
	return driver.Caps{
		PureGo:     true,
		Persistent: true,
		Modes:      []driver.Mode{driver.Exclusive, driver.ReadOnly},
		Promises: [3]driver.Promise{
			driver.Synced:   {Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true},
			driver.Flushed:  flushed,
			driver.Buffered: flushed,
		},
		// A commit that enlarges the memory map waits for every open read transaction (bbolt: DB.Begin).
		ReadersBlockWriters: driver.Sometimes,
		MaxKey:              bolt.MaxKeySize,
		MaxValue:            bolt.MaxValueSize,
		Compacts:            compacts,
		Checks:              true,
	}
}

// compacts: Windows does not rename over a file that is open and mapped.
const compacts = runtime.GOOS != "windows"
