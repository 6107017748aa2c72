// Package buntkv keeps a kv store in BuntDB: a B-tree in memory, and a file that every commit is appended to.
//
// Importing it registers the engine "bunt". All data must fit in memory; opening reads the whole file.
//
// # Durability
//
// Synced is what BuntDB's SyncPolicy Always does, done by the driver: BuntDB ignores the error of a sync. Flushed is the
// policy of the option SyncPolicy, EverySecond unless it says otherwise: the commit is written before it is acknowledged
// and synced within a second. Buffered delivers Flushed. After a failed write or sync a store takes no more commits.
//
// BuntDB refuses a file in which power loss has torn the last commit. The driver marks what was synced, with a pair under the
// empty key that readers do not see, and cuts such a file back to its last mark when it opens it; see mark.go.
//
// Two facts of BuntDB weaken these promises, and the driver cannot mend them. A commit that a crash cuts at the end
// of one of its pairs is read back in part: transactions are not atomic across crashes (Caps.CrashAtomic). And a compaction
// renames the new file over the old one before it is synced; the driver syncs it immediately afterwards.
//
// # Locks
//
// BuntDB takes no lock on its file, so the driver locks a file beside it, PATH.lock. Within the process there is one
// read-write lock: an Update waits for every View to end, a View for the Update, and BuntDB itself takes the lock for
// writing once a second. A View must therefore not contain another View, nor an Update.
//
// BuntDB offers no way to wait for its own goroutine, which ends up to a second after Close. It touches no file then.
package buntkv

import (
	"context"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens BuntDB files. The zero Driver is ready.
type Driver struct{}

var _ driver.Driver = Driver{}

var info = driver.Info{
	Name:    "bunt",
	Summary: "B-tree in memory, append-only file on disk; reads are fast, all data must fit in memory",
	Modules: []string{"github.com/tidwall/buntdb"},
	Options: optionTable,
	Caps: driver.Caps{
		PureGo:     true,
		Persistent: true,
		Modes:      []driver.Mode{driver.Exclusive},
		Promises: [3]driver.Promise{
			driver.Synced:   {Supported: true, Class: driver.Synced, Intact: true},
			driver.Flushed:  {Supported: true, Class: driver.Flushed},
			driver.Buffered: {Supported: true, Class: driver.Flushed},
		},
		ReadersBlockWriters: driver.Always,
		WritersBlockReaders: driver.Always,
		Compacts:            true,
		Checks:              true,
	},
}

// Info describes BuntDB.
func (Driver) Info() driver.Info { return info }

// Open opens or creates the file at c.Path. A file that another process has open is Busy, one that does not begin as
// BuntDB's files do is Corrupt and left as it is: BuntDB would take it for a torn write and empty it.
func (Driver) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	o, err := parseOptions(c)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return openStore(c, o)
}
