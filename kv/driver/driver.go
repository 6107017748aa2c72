// Package driver is what a storage engine implements to be used through package kv.
//
// Programs use package kv; engines implement the interfaces of this one. kv does what is the same for every engine
// (parsing the URL, checking arguments, serialising writers, waiting, wrapping errors), so that a driver holds only
// what is particular to its engine. Package kv/drivertest says precisely what a driver must do, as tests.
//
// This package imports the standard library only.
package driver

import (
	"context"
	"log/slog"
)

// Driver opens stores of one engine. It is registered under a name with [Register] and must be safe for concurrent use.
type Driver interface {
	// Info describes the engine without opening anything.
	Info() Info

	// Open opens the store at c.Path, creating it and its missing parent folders unless c.Mode is ReadOnly.
	//
	// Open never waits for a lock of another process: it returns Busy at once, and kv tries again until its own time
	// is up. A file that the engine cannot make sense of is Corrupt, even where the engine panics on it. What cannot be
	// honoured (a mode, a parameter's value) is Unsupported or Invalid, never an approximation.
	Open(ctx context.Context, c Config) (Store, error)
}

// Info describes an engine as data.
type Info struct {
	Name    string   // the scheme in a URL, "bbolt"
	Summary string   // one line on what kind of engine it is
	Modules []string // paths of the Go modules that hold the engine's code; their versions are read from the binary
	Options []Option // the engine's own options, reachable as URL parameters, sorted by name
	Caps    Caps     // what the engine can do with its default options
}

// Option is one URL parameter of an engine, under the engine's own name for it.
type Option struct {
	Name    string // as in the engine's documentation, "SyncWrites"
	Values  string // what it takes, "true|false", "bytes", "WAL|DELETE"
	Default string // what holds when it is absent
	Usage   string // one line
}

// Config says what to open and how. kv has checked that every name in Params is one of the engine's Options.
type Config struct {
	Path    string            // file or folder, in the operating system's form
	Mode    Mode              // always one of the engine's Caps.Modes
	Weakest Durability        // the weakest class this program will ask for; for engines that fix durability when they open
	Params  map[string]string // the engine's own options
	Logger  *slog.Logger      // for what the engine reports in the background; never nil
}

// Store is an open store. All methods may be called concurrently, except as they say.
//
// kv never calls Begin while a Txn of the same Store is open, nor Apply while a Txn is open; Apply runs concurrently
// with Apply only where Caps.ConcurrentApply is set. Close is called once, when nothing else runs.
type Store interface {
	// Caps tells what this store can do with the options it was opened with.
	Caps() Caps

	// Settings tells the settings in force, read back from the engine where it lets one, under the engine's own names.
	Settings() []Setting

	// Snapshot returns a view of the last committed state, fixed before Snapshot returns.
	Snapshot() (Reader, error)

	// Begin starts a transaction whose commit will have at least the durability d.
	// It may wait for another process until ctx ends.
	Begin(ctx context.Context, d Durability) (Txn, error)

	// Apply commits ops, in order, as one atomic transaction with at least the durability d. It keeps nothing of ops.
	Apply(ctx context.Context, ops []Op, d Durability) error

	// Compact gives space that is no longer needed back to the file system, as far as the engine can while open.
	Compact(ctx context.Context) error

	// Check runs the engine's own check of the stored data and returns Corrupt if it finds a fault.
	Check(ctx context.Context) error

	// Files lists the files and folders that hold the store's data now, companions included.
	Files() ([]string, error)

	// Backup writes a consistent copy of the last committed state to path, which does not exist, so that the engine
	// can open it there. kv gives a temporary path, syncs the copy and renames it into place.
	Backup(ctx context.Context, path string) error

	// Close releases everything, its goroutines included, and makes commits durable as the engine does on Close.
	Close() error
}

// Reader reads one fixed state. It is used by one goroutine at a time.
type Reader interface {
	// Get appends the value of key to dst and returns the extended slice. An absent key returns dst and the bare
	// NotFound. An empty value is found and appends nothing. Get keeps neither key nor dst.
	Get(dst, key []byte) ([]byte, error)

	// Cursor returns a cursor before the first pair of r. Bounds are normalised: see [Range].
	// Several cursors may be open at once.
	// The bounds stay unchanged until the cursor is closed.
	Cursor(r Range) (Cursor, error)

	// Close releases the state. All cursors were closed before.
	Close() error
}

// Cursor walks over pairs in the order of their keys, or in the reverse order if its range says so.
type Cursor interface {
	// Next moves to the next pair and returns it; a nil key without an error is the end, and stays the end.
	// Both slices are borrowed: they hold until the next call of Next or Close.
	Next() (key, value []byte, err error)

	// Close ends the walk. It is called once.
	Close() error
}

// Txn is a read-write transaction that sees its own writes. It is used by one goroutine at a time.
// Close without a Commit before it rolls everything back; after a Commit, successful or not, it only releases.
type Txn interface {
	Reader

	// Put sets key to value. It keeps neither.
	Put(key, value []byte) error

	// Delete removes key; that it is absent is no error.
	Delete(key []byte) error

	// Commit makes the transaction visible and as durable as Begin was asked. After an error nothing of it is visible.
	Commit() error
}

// Op is one step of a batch.
type Op struct {
	Key, Value []byte
	Delete     bool // remove Key; Value is not used
}

// Range is the half-open interval [Start, End) of keys. A nil bound is open.
//
// A driver gets normalised ranges: Start is nil or not empty, End is nil or not empty, and Start < End.
type Range struct {
	Start, End []byte
	Reverse    bool
}

// Setting is one setting of an open store.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
