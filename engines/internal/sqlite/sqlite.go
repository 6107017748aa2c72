// Package sqlite keeps a kv store in an SQLite database, by any build of SQLite for Go: what a store is, what its
// commits promise, how it waits for locks. A build is a [Library]; the engines sqlitekv, sqliteckv and sqlitewasmkv
// each bring one. Their stores are the same files.
//
// All pairs are in one table,
//
//	kv(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID
//
// which every other SQLite program can read. The file is marked by its application_id; a database that is not marked
// and not empty is refused, never written to, unless its table is named.
//
// # Tables of other programs
//
// The options Table, Key and Value name a table and two of its columns in an existing database, which is used as it is.
// The key's column must have a primary key or UNIQUE index of its own that compares bytes (COLLATE BINARY, which is the
// default), and hold blobs alone or text alone; values are written as the type of their column says. A value that is
// NULL reads as empty. A Put sets these two columns: it fails if another one must be given. The database keeps its
// journal mode unless journal_mode is given. Compact, Check, Backup and Size concern the whole database.
//
// # Durability
//
// With journal_mode=WAL (the default) Synced commits under synchronous=FULL, Flushed under NORMAL: after a power loss
// some of the last Flushed commits may be gone, the rest is whole. With journal_mode=DELETE Synced commits under EXTRA,
// because SQLite: FULL does not sync the folder after it has removed the journal, so the last commit may be rolled back.
// Flushed commits under NORMAL, for which SQLite documents a small chance of damage. Buffered delivers Flushed. The
// option synchronous fixes the setting for all commits; then a class that it does not deliver is refused.
//
// # Locks
//
// Several processes may have the database open. In WAL mode readers and the writer do not wait for each other; in DELETE
// mode a commit waits until no reader is left, and new readers wait for it. Nothing here waits: a lock that is held, by
// another process or another connection of this one, is Busy, and kv tries again. There is no Exclusive mode: SQLite's
// locking_mode=EXCLUSIVE allows a single connection, hence no View beside an Update, and a lock file of our own would
// not stop other SQLite programs.
//
// SQLite: locks on Unix belong to the process, so a program must not open and close the database file by other means
// than the one build of SQLite that has it open; that drops the locks. Two builds in one process are such other means.
//
// In ReadOnly mode nothing is written to the database. Its journal_mode is the one that it has. In WAL mode SQLite
// coordinates readers through the files -wal and -shm and creates them if they are missing; in a folder where it cannot,
// opening fails unless immutable=true says that nobody writes meanwhile.
//
// # After an error
//
// A commit that finds readers (Busy) or no space (Full) is not done. One whose write or sync fails otherwise is in doubt:
// SQLite rolls it back, so that nobody sees it, but it may stand in the log as a whole, and be there when the database is
// opened after a crash. No commit follows through the same handle, as a sync that failed may have lost earlier commits
// that were not synced yet, and what stands behind them in the log would be lost with them.
//
// # The handle
//
// Programs that want SQL beside the store open the same path with the build's own package. SQLite has no handle of a
// database that could be lent or wrapped, only connections, each for one goroutine and one transaction, and a store
// needs one for every snapshot.
package sqlite

import "context"

// Library is a build of SQLite for Go, as an engine.
type Library struct {
	Name    string   // the engine's, the scheme in a URL
	Summary string   // one line on what kind of build it is
	Modules []string // the Go modules that hold SQLite's code
	PureGo  bool

	// LevelVaries: a new connection does not always have synchronous=FULL, as SQLite's own default is.
	LevelVaries bool

	// Connect opens a connection with flags of sqlite3_open_v2. Its errors are made by [NewError].
	Connect func(path string, flags int32) (Conn, error)

	// Opened is called with every store that was opened; it may be nil.
	Opened func(*Store) error
}

// Conn is a connection. It is used by one goroutine at a time, so SQLite need not lock it. Result codes are SQLite's
// extended ones.
type Conn interface {
	// Prepare compiles one statement. A persistent one will be used often.
	Prepare(sql string, persistent bool) (Stmt, int32)

	// Autocommit reports whether no transaction is open.
	Autocommit() bool

	// Writable reports whether SQLite got the file open for writing; without the right to it falls back to reading.
	Writable() bool

	// Failure makes an error, by [NewError], of the result code of the last call.
	Failure(rc int32) error

	// Interruptible runs fn, whose statements end with Interrupted when ctx ends.
	Interruptible(ctx context.Context, fn func() error) error

	// Close ends the connection. Its statements were finalized before.
	Close() error
}

// Stmt is a prepared statement.
type Stmt interface {
	// Bind sets the arguments ?1 and ?2 to copies of a and b, for one run; a nil b is no argument.
	Bind(a, b []byte) int32

	// Step runs the statement up to its next row (Row) or its end (Done).
	Step() int32

	// Column returns column i, 0 or 1, of the row as bytes. They hold until the next Step or Reset and must not be
	// written to.
	Column(i int) ([]byte, int32)

	// Reset ends a run.
	Reset()

	// Finalize releases the statement.
	Finalize()
}

// The result codes of SQLite that matter here. The low byte is the primary code.
const (
	OK             = 0
	Perm           = 3
	Busy           = 5
	Locked         = 6
	NoMem          = 7
	ReadOnly       = 8
	Interrupted    = 9
	IOErr          = 10
	Corrupt        = 11
	Full           = 13
	CantOpen       = 14
	TooBig         = 18
	Constraint     = 19
	Auth           = 23
	NotADB         = 26
	Row            = 100
	Done           = 101
	IOErrCorruptFS = IOErr | 33<<8
)

// The flags of sqlite3_open_v2 that are used here.
const (
	openReadOnly  = 0x1
	openReadWrite = 0x2
	openURI       = 0x40
	openNoMutex   = 0x8000
)
