package sqlite

import (
	"context"
	"database/sql"

	"github.com/assaydb/assay/kv/driver"
)

// Library is a build of SQLite for Go, as an engine.
type Library struct {
	Name    string   // the engine's, the scheme in a URL
	Summary string   // one line on what kind of build it is
	Modules []string // the Go modules that hold SQLite's code
	PureGo  bool
	MaxRow  int // bytes of a key, and of a value; 0 is SQLite's limit

	// Pools are the packages whose drivers of database/sql have the same code of SQLite.
	Pools []string
	pool  *sql.DB // the program's, where a store is made of it

	// Connect opens a connection with flags of sqlite3_open_v2. Its syncs are told to onSync; where
	// that is nil, nothing stands between SQLite and its files. Errors are made by [NewError].
	Connect func(path string, flags int32, onSync driver.OnSync) (Conn, error)
}

// Conn is a connection. It is used by one goroutine at a time, so SQLite need not lock it. Result
// codes are SQLite's extended ones.
type Conn interface {
	// Prepare compiles one statement with flags of sqlite3_prepare_v3.
	Prepare(sql string, flags uint32) (Stmt, int32)

	// CheckpointAt has every commit that leaves pages or more in the log end with CheckpointDue.
	CheckpointAt(pages int)

	// KeepLog says whether the log stays as it is when the last connection of the database is
	// closed. SQLite copies it into the database then, and removes it.
	KeepLog(bool)

	// CopyAll has the next checkpoint copy the whole log, whatever of it has been copied. It is
	// called in a transaction that writes, and Busy while a checkpoint runs.
	CopyAll() int32

	// Committed returns how many frames of the log are committed, as its index says. It is called
	// in a transaction that writes, so that nobody else changes it.
	Committed() (frames uint32, rc int32)

	// Written counts the pages that this connection has written. It begins anew some time.
	Written() int

	// Autocommit reports whether no transaction is open.
	Autocommit() bool

	// Writable reports whether SQLite got the file open for writing; without the right to it falls
	// back to reading.
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

	// Step runs the statement up to its next row (Row) or its end (Done), and returns the row's
	// first columns, two at most, as bytes. They hold until the next Step or Reset and must not be
	// written to.
	Step(columns int) (a, b []byte, rc int32)

	// Reset ends a run.
	Reset()

	// Finalize releases the statement.
	Finalize()
}

// The result codes of SQLite that matter here. The low byte is the primary code.
const (
	OK             = 0
	GenericError   = 1
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
	CheckpointDue  = 27 // SQLITE_NOTICE, which SQLite itself never returns
	Row            = 100
	Done           = 101
	IOErrFsync     = IOErr | 4<<8
	IOErrCorruptFS = IOErr | 33<<8
)

// The flags of sqlite3_open_v2, and the one of sqlite3_prepare_v3 for what will be used often, that
// are used here.
const (
	openReadOnly  = 0x1
	openReadWrite = 0x2
	openURI       = 0x40
	openNoMutex   = 0x8000
	persistent    = 0x1
)
