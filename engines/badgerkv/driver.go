// Package badgerkv is the engine "badger": Dgraph's Badger, a log-structured merge tree in a
// folder, with values of a megabyte and more in files of their own. A folder of another program
// opens as it is.
//
// # Durability
//
// It is fixed when the store is opened, by the weakest class that the program will ask for: with
// Synced (the default) Badger syncs every commit (SyncWrites), otherwise none, and Synced is then
// refused. A sync per commit on a store without SyncWrites is not on offer, because DB.Sync would
// not keep that promise: it syncs the log of the current table in memory, while the commit may lie
// in one that has just been set aside and whose log nobody syncs before it is written out as a
// table, some time later. Without SyncWrites a power loss may leave a store that does not open.
//
// Reads verify no checksums unless Open is told so by ChecksumVerificationMode; Check always does.
//
// Files are mapped into memory and sparse: an empty store looks like 2.2 GB and takes some 30 KB.
//
// # Keys
//
// Keys that begin with "!badger!" are Badger's own and Invalid here. A constant prefix before every
// key would allow them, at the cost of a copy of the key in every operation.
//
// # What is ours
//
// Badger itself has none of this.
//
// ours_trouble.go: Badger acknowledges a commit although a sync of its value log failed, and goes
// on behind a hole in its log. Such a commit is in doubt here, and later ones are refused. If the
// power fails then, too, the keys of the commit in doubt may be there without their large values;
// to read these is Corrupt. Badger tries for ever to write out a table, and commits, snapshots and
// Close wait for it. Once it has logged that it fails, none of the driver's calls takes more than
// ten seconds longer. A Close that gives up leaves the folder locked until the process ends.
//
// ours_room.go, ours_room_unix.go, ours_room_windows.go, ours_room_other.go: a mapped file on a
// full disk kills the process (SIGBUS), which no program can prevent once it happens. The store
// therefore stops with Full while there is still room to write out what is in memory.
//
// ours_open.go, ours_open_unix.go, ours_open_windows.go: what a killed process left and Badger does
// not open, and what would make it end the process while it opens, is found before. The logs that
// it left are written and synced once more, as it may have died of a sync that failed. On Windows
// only damaged tables are found.
//
// ours_manifest.go: a record at the end of the manifest that a power loss has torn is cut off,
// except on Windows. Badger refuses to open the store.
//
// ours_bulk.go: with which options a load takes little memory.
//
// ours_check.go: Check reads the value log, too, and outlives Badger's panics over damaged files.
package badgerkv

import (
	"context"
	"errors"
	"runtime"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens Badger stores. The zero value is ready to use.
type Driver struct{ options *badger.Options }

// Info describes the engine. Its promises are those of a store that was opened with the class as
// the weakest one; an open store tells its own.
func (Driver) Info() driver.Info {
	caps := capabilities(defaults())
	caps.Promises[driver.Synced] = synced
	return driver.Info{
		Name:    "badger",
		Summary: "log-structured merge tree in a folder, large values apart, one writing process (Dgraph's Badger)",
		Modules: []string{"github.com/dgraph-io/badger/v4"},
		Options: table.Options(defaults()),
		Caps:    caps,
		Bulk:    bulk,
	}
}

// What a commit delivers with SyncWrites and without.
var (
	synced = driver.Promise{Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true,
		DiskMayBreak: true}
	unsynced = driver.Promise{Supported: true, Class: driver.Flushed, KillAtomic: true}
)

// capabilities tells what a store with the options o can do.
func capabilities(o badger.Options) driver.Caps {
	caps := driver.Caps{
		PureGo: true, Persistent: true, Folder: true, SharedReading: true, Compacts: true, Checks: true,
		Modes:    []driver.Mode{driver.Exclusive, driver.ReadOnly},
		Promises: [3]driver.Promise{driver.Flushed: unsynced, driver.Buffered: unsynced},
		// blind writes of a batch get one time stamp; those that run together share a sync
		ConcurrentApply: true,
		TxnLimit:        true,                                  // some 15 % of MemTableSize
		MaxKey:          65000,                                 // a constant within Badger's Txn.modify
		MaxValue:        int(min(o.ValueLogFileSize, 1<<30-1)), // a larger one fits in no file of the value log
		Compression:     []string{"none", "snappy", "zstd"},
	}
	if o.SyncWrites {
		caps.Promises = [3]driver.Promise{synced, synced, synced}
	}
	if runtime.GOOS == "windows" {
		caps.Modes, caps.SharedReading = caps.Modes[:1], false // Badger: ErrWindowsNotSupported
	}
	return caps
}

// Open opens the store in the folder c.Path.
func (d Driver) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	o, err := read(c, d.options)
	if err != nil {
		return nil, err
	}
	t := newTrouble(c, o)
	if c.Mode != driver.ReadOnly {
		err = driver.MakeDirs(c.Path)
	}
	if err := errors.Join(err, t.mend(o)); err != nil {
		return nil, classify(err)
	}
	o.Logger = t
	db, err := open(o)
	if err != nil {
		return nil, classifyOpen(err)
	}
	return &store{db: db, caps: capabilities(o), trouble: t}, nil
}

// open opens the folder. Badger panics on some damaged files.
func open(o badger.Options) (db *badger.DB, err error) {
	defer driver.Recovered(&err, panicked)
	return badger.Open(o)
}
