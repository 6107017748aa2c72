// Package badgerkv is the engine "badger": Dgraph's Badger, a log-structured merge tree in a folder, with values of a
// megabyte and more in files of their own.
//
// Durability is fixed when the store is opened, by the weakest class that the program will ask for: with Synced (the
// default) Badger syncs every commit (SyncWrites), otherwise none, and Synced is then refused. A sync per commit on a
// store without SyncWrites is not on offer, because DB.Sync would not keep that promise: it syncs the log of the
// current table in memory, while the commit may lie in one that has just been set aside and whose log nobody syncs
// before it is written out as a table, some time later. Without SyncWrites a power loss may leave a store that does
// not open.
//
// Failing disks: Badger logs a failed sync of its file of values, and acknowledges the commit. The driver reads that in the
// log: the commit is in doubt, and none is taken after it. If the power then fails, the keys of that commit may be there
// without their values of ValueThreshold bytes and more, and reading these is Corrupt. After other failures of the disk a
// commit or Close may hang, and Badger ends the process when it cannot make one of its files while it opens.
//
// Reads verify no checksums unless ChecksumVerificationMode says so; Check always does.
//
// Files are mapped into memory and sparse: an empty store looks like 2.2 GB and takes some 30 KB. A mapped file on a
// full disk kills the process (SIGBUS), which no program can prevent once it happens. The store therefore stops
// with Full while there is still room to write out what is in memory: see room.
//
// Keys that begin with "!badger!" are Badger's own and Invalid here. A constant prefix before every key would allow
// them, at the cost of a copy of the key in every operation.
package badgerkv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens Badger stores. The zero value is ready to use.
type Driver struct{}

var _ driver.Driver = Driver{}

// Info describes the engine. Its promises are those of a store that was opened with the class as the weakest one;
// an open store tells its own.
func (Driver) Info() driver.Info {
	caps := capabilities(badger.DefaultOptions(""))
	caps.Promises = unsynced
	caps.Promises[driver.Synced] = synced[driver.Synced]
	return driver.Info{
		Name:    "badger",
		Summary: "log-structured merge tree in a folder, large values apart, one writing process (Dgraph's Badger)",
		Modules: []string{"github.com/dgraph-io/badger/v4"},
		Options: options,
		Caps:    caps,
	}
}

// What a store delivers with SyncWrites and without.
var (
	synced = [3]driver.Promise{
		driver.Synced:   {Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true},
		driver.Flushed:  {Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true},
		driver.Buffered: {Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true},
	}
	unsynced = [3]driver.Promise{
		driver.Flushed:  {Supported: true, Class: driver.Flushed, KillAtomic: true},
		driver.Buffered: {Supported: true, Class: driver.Flushed, KillAtomic: true},
	}
)

const (
	maxKey = 65000 // a constant within Badger's Txn.modify
	// A larger value fits in no file of the value log, whatever its size.
	maxValue = 1<<30 - 1
)

// capabilities tells what a store with the options o can do.
func capabilities(o badger.Options) driver.Caps {
	caps := driver.Caps{
		PureGo:          true,
		Persistent:      true,
		Folder:          true,
		Modes:           []driver.Mode{driver.Exclusive, driver.ReadOnly},
		SharedReading:   true,
		Promises:        unsynced,
		ConcurrentApply: true, // blind writes of one batch get one time stamp; those that run together share a sync
		MaxKey:          maxKey,
		MaxValue:        int(min(o.ValueLogFileSize, maxValue)),
		TxnLimit:        true, // some 15 % of MemTableSize
		Compression:     []string{"none", "snappy", "zstd"},
		Compacts:        true,
		Checks:          true,
	}
	if o.SyncWrites {
		caps.Promises = synced
	}
	if runtime.GOOS == "windows" {
		caps.Modes = caps.Modes[:1] // Badger: ErrWindowsNotSupported
	}
	return caps
}

// Open opens the store in the folder c.Path.
func (Driver) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	o, err := parse(c)
	if err != nil {
		return nil, err
	}
	failed := new(driver.Failure)
	o = o.WithLogger(logger{c.Logger, failed})
	if !capabilities(o).Supports(c.Mode) {
		return nil, &driver.Error{Op: "open", Kind: driver.Unsupported, Err: fmt.Errorf("mode %v", c.Mode),
			Hint: "badger's folder is for one writing process or several reading ones"}
	}
	if err := prepare(c); err != nil {
		return nil, err
	}
	room := newRoom(c.Path, o)
	if c.Mode != driver.ReadOnly {
		if err := errors.Join(removeLeftovers(c.Path), room.take(0)); err != nil {
			return nil, err
		}
	}
	if err := checkTables(o); err != nil {
		return nil, err
	}
	db, err := open(o)
	if err != nil {
		return nil, classifyOpen(err)
	}
	return &store{db: db, path: c.Path, room: room, caps: capabilities(db.Opts()), failed: failed}, nil
}

// prepare makes the folder, or checks in ReadOnly mode that a store is there.
func prepare(c driver.Config) error {
	info, err := os.Stat(c.Path)
	if err == nil && !info.IsDir() {
		return &driver.Error{Op: "open", Kind: driver.Corrupt, Err: fmt.Errorf("%s is a file", c.Path),
			Hint: "badger keeps a store in a folder: name a folder"}
	}
	if c.Mode != driver.ReadOnly {
		return driver.MakeDirs(c.Path)
	}
	if _, err := os.Stat(filepath.Join(c.Path, badger.ManifestFilename)); errors.Is(err, fs.ErrNotExist) {
		return &driver.Error{Op: "open", Kind: driver.NoStore, Err: fmt.Errorf("no badger store in %s", c.Path)}
	}
	return nil
}

// open opens the folder. Badger panics on some damaged files.
func open(o badger.Options) (db *badger.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, &driver.Error{Op: "open", Kind: driver.Corrupt, Err: fmt.Errorf("badger panics: %v", r)}
		}
	}()
	return badger.Open(o)
}
