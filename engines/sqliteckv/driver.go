//go:build cgo

// Package sqliteckv is the engine "sqlite-c": an SQLite database by SQLite itself, the C library,
// as github.com/mattn/go-sqlite3 brings it. It needs cgo; without, the package is empty and the
// engine not registered.
//
// What a store is, what its commits promise and how it is locked is told in
// engines/internal/sqlite, which all builds of SQLite share: in WAL mode Synced commits run under
// synchronous=FULL and Flushed ones under NORMAL, and several processes may read and write. The
// files are those of the engine "sqlite".
//
// # Speed
//
// The package declares the functions of SQLite that it calls and takes their code from go-sqlite3,
// whose database/sql driver it goes around. A call from Go to C costs more than some of SQLite's
// functions do, so that a step is one call, with the binding of the arguments before it and the
// fetching of the columns after it.
//
// # What is ours
//
//   - ours_checkpoint.go: says when a checkpoint is due, has one copy all, and keeps a log that is
//     not whole
//   - ours_syncs.go: tells of the syncs, where somebody asks
package sqliteckv

import (
	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(library) }

var library = &sqlite.Library{
	Name:    "sqlite-c",
	Summary: "SQLite's B-tree with write-ahead log or rollback journal, the C library through cgo; several processes",
	Modules: []string{"github.com/mattn/go-sqlite3"},
	Pools:   []string{"github.com/mattn/go-sqlite3", "github.com/assaydb/assay/sqlite/sqldriver"},
	Connect: connect,
}
