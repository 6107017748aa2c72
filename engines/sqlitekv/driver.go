// Package sqlitekv is the engine "sqlite": an SQLite database, a B-tree in one file with a
// write-ahead log or a rollback journal beside it, by modernc.org/sqlite, which is SQLite
// translated to Go.
//
// What a store is, what its commits promise and how it is locked is told in
// engines/internal/sqlite, which all builds of SQLite share: in WAL mode Synced commits run under
// synchronous=FULL and Flushed ones under NORMAL, and several processes may read and write.
//
// # Speed
//
// The package calls SQLite's C interface as modernc.org/sqlite/lib exports it. Through database/sql
// every query costs about twenty allocations, through this none. Statements are prepared once per
// connection, on first use.
//
// # What is ours
//
//   - ours_checkpoint.go: says when a checkpoint is due, has one copy all, and keeps a log that is
//     not whole
//   - ours_syncs.go: tells of the syncs, where somebody asks
package sqlitekv

import (
	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(library) }

var library = &sqlite.Library{
	Name:    "sqlite",
	Summary: "SQLite's B-tree with write-ahead log or rollback journal, translated to Go; several processes",
	Modules: []string{"modernc.org/sqlite"},
	PureGo:  true,
	Pools:   []string{"modernc.org/sqlite"},
	Connect: connect,
}
