// Package sqlitewasmkv is the engine "sqlite-wasm": an SQLite database by
// github.com/ncruces/go-sqlite3, which is SQLite compiled to WebAssembly and that translated to Go,
// with its files and locks written in Go.
//
// What a store is, what its commits promise and how it is locked is told in
// engines/internal/sqlite, which all builds of SQLite share: in WAL mode Synced commits run under
// synchronous=FULL and Flushed ones under NORMAL, and several processes may read and write. The
// files are those of the engine "sqlite".
//
// Every connection has a memory of its own, as a WebAssembly module has: it grows with the largest
// value and the cache and is given back when the connection is closed. It is 256 MiB at most, of
// which SQLite needs several times a pair's size: a key or value is at most 32 MiB, and a
// transaction for which the memory is too small is TooLarge.
//
// # What is ours
//
//   - ours_checkpoint.go: says when a checkpoint is due, has one copy all, keeps a log that is not
//     whole, and syncs the folder behind a new log, which go-sqlite3 v0.35.6 leaves out. The folder of
//     a rollback journal is not synced before the database is written: a file system that orders
//     names by nothing but the sync of their folder (strict, in docs/durability.md) may lose it
//   - ours_lock_linux.go, ours_lock_other.go: nobody checkpoints while one is told to copy all; on
//     Linux alone
//   - ours_syncs.go: tells of the syncs, where somebody asks, but not on Windows, nor on file systems
//     whose writes are atomic (F2FS)
//   - ours_memory.go: the end of a connection's memory is an error, at which go-sqlite3 panics
package sqlitewasmkv

import (
	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(library) }

var library = &sqlite.Library{
	Name:    "sqlite-wasm",
	Summary: "SQLite's B-tree with write-ahead log or rollback journal, by WebAssembly in Go; several processes",
	Modules: []string{"github.com/ncruces/go-sqlite3", "github.com/ncruces/go-sqlite3-wasm/v6"},
	PureGo:  true,
	MaxRow:  maxRow,
	Pools:   []string{"github.com/ncruces/go-sqlite3/driver"},
	Connect: connect,
}
