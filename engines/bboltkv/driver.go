// Package bboltkv keeps a kv store in a bbolt file: a copy-on-write B+tree in one memory-mapped
// file.
//
// Importing it registers the engine "bbolt". The pairs are in one bucket, "kv", or in the one that
// the option Bucket names, of another program's file for instance. A file that has buckets, but not
// that one, is refused. [Open], [Wrap] and [Handle] are for programs that use bbolt's own types.
//
// # Durability
//
// Synced is bbolt's default: two fdatasync calls per commit. Flushed is a commit under bbolt's
// NoSync: it survives the death of the process; Close syncs nothing, as bbolt's own. Buffered
// delivers Flushed. One page with a checksum names all others: after a kill a transaction is whole
// or absent, at every class; after a power loss, if all are Synced. bbolt writes into pages that
// earlier commits freed, so that after a Flushed commit, until the next Synced one, a power loss
// may damage the whole file. A store that needs Synced commits to be safe at every moment asks for
// Synced always.
//
// After a sync that failed bbolt goes on, and may write into pages that the disk still needs. Such
// a commit is in doubt, and kv lets no other follow; when the store is opened again, the driver
// writes and syncs all of the file once more. It is not done, and others may follow, only where
// bbolt refused it for its MaxSize, or where the disk was full for pages that nobody needs yet. A
// process may die before it has told: where the last one did not close the file, or it was another
// program, the first Synced commit takes one sync more. Where it died amid a Synced commit whose
// sync was to be for earlier Flushed ones, too, all of the file is written and synced once more.
// Where a Flushed commit makes the file longer, bbolt would sync it; it does not here, for a
// process that died of that would have told nobody.
//
// # Locks
//
// One process has the file open, or several do in ReadOnly mode, where Check only reads. Elsewhere
// Check keeps writers waiting, nobody else.
//
// Readers and the writer meet only when a commit must enlarge the memory map: bbolt then waits
// until every snapshot is closed, and begins none. On 64-bit Unix systems the driver maps 64 GiB of
// addresses from the start, which costs no memory and some microseconds, so that they meet when the
// file outgrows that; where nobody writes, 64 MiB. On others, with MaxSize, with a smaller
// InitialMmapSize, and on a wrapped DB they meet earlier. Then a commit that has waited for ten
// seconds is in doubt: it ends by itself once the snapshots are closed, and Close waits for that. A
// new snapshot is refused as Busy after ten.
//
// # What is ours
//
// These files add to bbolt, and change neither the format of the file, but for 35 bytes that bbolt
// does not use, nor what a commit does:
//
//   - ours_create.go makes a new file appear as a whole;
//   - ours_file.go lets a file be replaced while snapshots of it go on, and ours_compact.go replaces
//     it by a compact one;
//   - ours_idle.go keeps the read transaction that was closed last for the next reader;
//   - ours_heal.go tells what became of a commit that failed, mends the file, and seals it;
//   - ours_damage.go turns panics and faults over damaged pages into errors, for scans ours_ahead.go,
//     which reads ahead; ours_pages.go looks at pages before bbolt's own check does;
//   - ours_growth.go bounds the waiting; how much is mapped stands in ours_unix.go, ours_other.go.
//
// One case of damage is left: bbolt opens a file that was written with NoFreelistSync by checking
// all its pages in a goroutine of its own, and may then crash the process.
package bboltkv

import (
	"context"
	"runtime"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens bbolt files. The zero Driver is ready.
type Driver struct {
	typed   *options // of Open; nil is the defaults
	wrapped *bolt.DB // of Wrap
}

var (
	synced  = driver.Promise{Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true}
	flushed = driver.Promise{Supported: true, Class: driver.Flushed, KillAtomic: true}
)

var info = driver.Info{
	Name:    "bbolt",
	Summary: "copy-on-write B+tree in one memory-mapped file; reads are fast, one writer, a commit rewrites pages",
	Modules: []string{"go.etcd.io/bbolt"},
	Options: table.Options(defaults),
	Caps: driver.Caps{
		PureGo:              true,
		Persistent:          true,
		Modes:               []driver.Mode{driver.Exclusive, driver.ReadOnly},
		SharedReading:       true,
		Promises:            [3]driver.Promise{synced, flushed, flushed},
		ReadersBlockWriters: driver.Sometimes,
		MaxKey:              bolt.MaxKeySize,
		MaxValue:            bolt.MaxValueSize,
		Compacts:            runtime.GOOS != "windows", // it does not rename over a file that is open and mapped
		Checks:              true,
		ChecksAlone:         true,
	},
}

// Info describes bbolt.
func (Driver) Info() driver.Info { return info }

// Open opens or creates the file at c.Path. A file that another process has locked is Busy; one
// that bbolt refuses or panics on, or that is shorter than its own header says, is Corrupt.
func (d Driver) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	o, err := d.options(c)
	if err != nil {
		return nil, err
	}
	s := &store{path: c.Path, options: o, caps: info.Caps}
	if d.wrapped != nil {
		s.wrap(d.wrapped)
	} else if s.file, err = openFile(c.Path, o); err != nil {
		return nil, err
	}
	if o.NoSync {
		s.caps.Promises[driver.Synced] = driver.Promise{}
	}
	return s, nil
}
