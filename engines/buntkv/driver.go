// Package buntkv is the engine "bunt": BuntDB, a B-tree in memory, and a file that every commit is
// appended to. All data must fit in memory; opening reads the whole file.
//
// # Durability
//
// BuntDB writes a commit before it acknowledges it: Flushed. It promises no more, and not even all
// of that: its file has nothing around a transaction, so that it takes what a kill has left of one
// for the whole, and refuses what a power loss has left. Its syncs ignore errors, its compaction
// renames a file before it is synced. That is the plain form, ?Frames=false.
//
// Unless Frames is false, BuntDB keeps the pairs in memory, and the driver writes the file, with a
// frame before every transaction. Whatever stands behind the last whole one when the store is
// opened is cut off. So transactions are whole or absent after a kill and after a power loss, at
// every class, and Synced is on offer: the driver syncs, and takes no more commits once a sync has
// failed. Flushed commits are synced each second, as BuntDB does, or as SyncPolicy says. What is
// damaged, though it was synced, is Corrupt.
//
// # The file
//
// It is BuntDB's. To a program that opens it with BuntDB itself, frames are one pair under the
// empty key, which changes with every commit. A file of another program is a store, and what it
// appends to one that was closed belongs to it; the first commit here then writes the file anew, as
// a compaction does. After a crash this package must be the first to open the file: what has no
// frame is cut off then, and the plain form refuses it. Opening and reading change nothing, but for
// the end of a torn file. Beside it stands PATH.lock, for BuntDB takes no lock on its file, and
// during a compaction PATH.compacting; the plain form's is BuntDB's own.
//
// Expiry dates that another program has set count when the file is read; then pairs stay.
//
// # Waiting
//
// BuntDB knows one reader-writer lock. While a View or Snapshot is open nothing is written, and
// while an Update runs nothing is read. Views may contain others. Who must wait does so until its
// context ends, and at most as long as kv waits for locks: then it is Busy. A commit takes as long
// as the disk does. The background goroutine of BuntDB ends up to a second after Close; it touches
// no file then.
//
// # What is ours
//
//   - ours_claim.go locks the file, and keeps BuntDB from what it would empty;
//   - ours_frame.go says what a frame is, and how much of a file is whole;
//   - ours_log.go reads the file, writes and syncs it, and checks it;
//   - ours_compact.go compacts it, by request and in the background;
//   - ours_gate.go lets in readers or a writer, whose waits know a context.
package buntkv

import (
	"context"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens BuntDB files. The zero Driver is ready.
type Driver struct{ config *buntdb.Config } // of Open

// Info describes BuntDB.
func (Driver) Info() driver.Info {
	return driver.Info{
		Name:    "bunt",
		Summary: "B-tree in memory, append-only file on disk; reads are fast, all data must fit in memory",
		Modules: []string{"github.com/tidwall/buntdb"},
		Options: table.Options(defaults),
		Caps:    defaults.caps(),
	}
}

// Open opens or creates the file at c.Path. A file that another process has open is Busy, one that
// does not begin as BuntDB's files do is Corrupt and left as it is.
func (d Driver) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	o, err := read(c.Params, d.config)
	if err != nil {
		return nil, err
	}
	s := &store{options: o, caps: o.caps(), logger: c.Logger, onSync: c.OnSync}
	if err := s.openFile(c); err != nil {
		return nil, err
	}
	return s, nil
}
