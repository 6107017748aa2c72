package main

import (
	"github.com/assaydb/assay"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/nullkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	_ "github.com/assaydb/assay/engines/sqlitewasmkv"
	_ "github.com/assaydb/assay/stores/eventlog/margaret" // opens by URL, has no keys
	_ "github.com/assaydb/assay/stores/pairs"             // opens by URL, to be copied
	_ "github.com/assaydb/assay/transfer/sqltable"        // opens by URL, to be copied
)

// The drivers of SQLite are of a type that they share.
const sqliteKV = "github.com/assaydb/assay/engines/sqlitekv"

// catalog names the engines in this binary, with the settings that are worth comparing. A file with
// a build constraint adds those that need more than Go, or says in absent how to get them.
var catalog = []assay.Engine{
	{Name: "bbolt", Engine: "bbolt", Default: true, Summary: "B+ tree in one file"},
	{Name: "pebble", Engine: "pebble", Plain: "pebble-plain", Default: true, Summary: "LSM tree, CockroachDB's"},
	{Name: "badger", Engine: "badger", Default: true, Summary: "LSM tree with a value log, snappy as by default"},
	{Name: "bunt", Engine: "bunt", Plain: "bunt-plain", Default: true, Summary: "B-tree in memory, append-only file"},
	{Name: "sqlite", Engine: "sqlite", Package: sqliteKV, Default: true, Summary: "SQLite in pure Go, WAL journal"},
	{Name: "sqlite-delete", Engine: "sqlite", Package: sqliteKV, Options: "journal_mode=DELETE", Prove: true,
		Summary: "SQLite with its rollback journal: no companion file between runs"},
	{Name: "badger-none", Engine: "badger", Options: "Compression=none", Summary: "Badger without compression"},
	{Name: "badger-zstd", Engine: "badger", Options: "Compression=zstd", Summary: "Badger with zstd"},
	{Name: "bunt-plain", Engine: "bunt", Options: "Frames=false", Prove: true,
		Summary: "BuntDB's file as it is by itself: a torn one does not open"},
	{Name: "pebble-plain", Engine: "pebble", Options: "Fence=false",
		Summary: "Pebble as it is by itself: a failing disk ends the process"},
	{Name: "sqlite-off", Engine: "sqlite", Package: sqliteKV, Options: "synchronous=OFF", Prove: true,
		Summary: "SQLite that never syncs: power loss must break it, or the proof is worth nothing"},
	{Name: "sqlite-delete-full", Engine: "sqlite", Package: sqliteKV, Options: "journal_mode=DELETE&synchronous=FULL",
		Prove:   true,
		Summary: "SQLite with its rollback journal and FULL, which can lose the last commit where EXTRA does not"},
	{Name: "leveldb", Engine: "leveldb", Summary: "LSM tree, LevelDB in Go"},
	{Name: "sqlite-wasm", Engine: "sqlite-wasm", Package: "github.com/assaydb/assay/engines/sqlitewasmkv",
		Summary: "SQLite by WebAssembly translated to Go, WAL journal"},
	{Name: "margaret", Engine: "margaret", Summary: "message log in Margaret's format, for the workload feed alone"},
	{Name: "null", Engine: "null", Unranked: true, Summary: "does nothing: the harness's own cost, never ranked"},
}

// absent names the engines that this binary lacks.
var absent = []assay.Absent{
	{Name: "duckdb", Summary: "DuckDB, a column store for analytics",
		How: "needs cgo and downloads half a gigabyte: cd engines/duckdbkv && go build ./assay"},
	{Name: "etcd", Summary: "etcd, keys on several machines that agree",
		How: "needs a cluster: cd engines/servers && go build ./assay"},
	{Name: "moss", Summary: "moss, sorted segments in memory and in an append-only file",
		How: "is not maintained, see docs/design.md: cd engines/mosskv && go build ./assay"},
	{Name: "postgres", Summary: "PostgreSQL, a table of a server",
		How: "needs a server: cd engines/servers && go build ./assay"},
}
