// Package driver is what a storage engine implements to be used through package kv.
//
// Programs use package kv; engines implement the interfaces of this one. kv does what is the same
// for every engine (parsing the URL, checking arguments, serialising writers, waiting, wrapping
// errors, stopping after a commit in doubt), so that a driver holds only what is particular to its
// engine. Package kv/drivertest says precisely what a driver must do, as tests.
//
// A driver must implement [Driver], [Store], [Reader], [Cursor] and [Txn]. The other interfaces are
// optional: where a driver does not implement one, kv does without, as each says.
//
// This package imports the standard library only.
package driver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// Driver opens stores of one engine. It is registered under a name with [Register] and must be safe
// for concurrent use.
type Driver interface {
	// Info describes the engine without opening anything.
	Info() Info

	// Open opens the store at c.Path, creating it and its missing parent folders unless c.Mode is
	// ReadOnly.
	//
	// Open never waits for a lock of another process: it returns Busy at once, and kv tries again
	// until its own time is up. A file that the engine cannot make sense of is Corrupt, even where
	// the engine panics on it. What cannot be honoured (a mode, a parameter's value) is Unsupported
	// or Invalid, never an approximation.
	//
	// ctx may end while Open runs. A driver whose opening may be long need not look at it: kv
	// returns to its caller, and closes the store when Open has returned.
	Open(ctx context.Context, c Config) (Store, error)
}

// Info describes an engine as data.
type Info struct {
	Name    string   // the scheme in a URL, "bbolt"
	Summary string   // one line on what kind of engine it is
	Modules []string // paths of the Go modules that hold the engine's code; their versions are read from the binary
	Options []Option // the engine's own options, reachable as URL parameters, sorted by name; see [Table]
	Caps    Caps     // what the engine can do with its default options

	// Bulk is the values of Options with which a copy fills a new store, where its URL names no
	// others: such as keep memory small. They must not change what the store then is.
	Bulk map[string]string

	// Forms: what lies at a path, file or folder, may be of any engine, and the driver itself says
	// what is wrong with it.
	Forms bool

	// Companions are the endings of files that may lie beside the store's own and hold data of it,
	// "-wal".
	Companions []string
}

// Config says what to open and how. kv has checked that every name in Params is one of the engine's
// Options.
type Config struct {
	// file or folder, absolute, in the operating system's form; of a store that is Remote as the
	// program wrote it; "" if none was given
	Path string
	Mode Mode // always one of the engine's Caps.Modes
	// the weakest class this program will ask for; for engines that fix durability when they open
	Weakest Durability
	Params  map[string]string // the engine's own options
	Logger  *slog.Logger      // for what the engine reports in the background; never nil
	OnSync  OnSync            // told of each sync of the store's files; nil where nobody asks, as kv says
}

// Store is an open store. All methods may be called concurrently, except as they say.
//
// kv never calls Begin while a Txn of the same Store is open. Close is called once, when nothing
// else runs.
//
// Where another process holds a lock, Snapshot and Begin return Busy at once with nothing done, and
// kv tries again until ctx ends or its own time is up. Where this process does, they may wait,
// until ctx ends.
type Store interface {
	// Caps tells what this store can do with the options it was opened with.
	Caps() Caps

	// Snapshot returns a view of the last committed state, fixed before Snapshot returns.
	// On a store that is Remote ctx holds for the life of the Reader.
	Snapshot(ctx context.Context) (Reader, error)

	// Begin starts a transaction whose commit will have at least the durability d.
	// On a store that is Remote ctx holds for the life of the Txn.
	Begin(ctx context.Context, d Durability) (Txn, error)

	// Close releases everything, its goroutines included, and makes commits durable as the engine
	// does on Close.
	Close() error
}

// Prompter is a Driver that can tell that an Open will end at once: in what some pages take to
// read. kv then calls it where its caller is. Without it, or if that cannot be told, kv calls Open
// in a goroutine of its own, so that nobody waits longer than for the end of ctx; that took 20 µs.
type Prompter interface {
	Prompt(c Config) bool
}

// Getter is a Store that can read one value of the last committed state at less cost than by a
// Snapshot. Without it kv takes a Snapshot.
type Getter interface {
	// Get is the Get of a Snapshot that is closed at once. It waits as Snapshot does, and runs
	// concurrently with itself and all else.
	Get(ctx context.Context, dst, key []byte) ([]byte, error)
}

// Applier is a Store that can commit a batch at less cost than a Txn. Without it kv begins a Txn,
// puts, deletes and commits.
type Applier interface {
	// Apply commits ops, in order, as one atomic transaction with at least the durability d. It
	// keeps nothing of ops. No Txn is open meanwhile; it runs concurrently with itself only where
	// Caps.ConcurrentApply is set. It waits as Begin does, and its errors are those of Begin, Put
	// and Commit.
	Apply(ctx context.Context, ops []Op, d Durability) error
}

// Compacter is a Store that can give space that is no longer needed back to the file system.
// Without it Compact does nothing. No writer runs meanwhile.
type Compacter interface {
	Compact(ctx context.Context) error
}

// Checker is a Store with a check of its own for the stored data, which returns Corrupt if it finds
// a fault. Without it, or where Caps.Checks is not set, kv reads every pair. No writer runs
// meanwhile where Caps.ChecksAlone is set.
type Checker interface {
	Check(ctx context.Context) error
}

// Backuper is a Store that can write a consistent copy of the last committed state to path, which
// does not exist, so that the engine can open it there. kv gives a temporary path, syncs the copy
// and renames it into place. Without it kv copies the pairs of a snapshot into a new store.
type Backuper interface {
	Backup(ctx context.Context, path string) error
}

// Configured is a Store that tells the settings in force, read back from the engine where it lets
// one, under the engine's own names. Without it they are Config.Params.
type Configured interface {
	Settings() []Setting
}

// Reader reads one fixed state. It is used by one goroutine at a time, which may be another one at
// each call; what its cursors have lent holds meanwhile.
type Reader interface {
	// Get appends the value of key to dst and returns the extended slice. An absent key returns dst
	// and the bare NotFound. An empty value is found and appends nothing. Get keeps neither key nor
	// dst.
	Get(dst, key []byte) ([]byte, error)

	// Cursor returns a cursor before the first pair of r. Bounds are normalised: see [Range].
	// Several cursors may be open at once, and are closed in any order. The bounds stay unchanged
	// until the cursor is closed.
	Cursor(r Range) (Cursor, error)

	// Close releases the state. All cursors were closed before.
	Close() error
}

// Lener is a Reader that tells the length of a value, in bytes, without copying it. An absent key
// is the bare NotFound. Without it kv gets the value.
type Lener interface {
	Len(key []byte) (int, error)
}

// Renewer is a Reader of a Snapshot that can be used again at less cost than a new one. Without it
// kv takes a Snapshot for each View.
type Renewer interface {
	// Renew makes the reader, which was closed, one of the last committed state, as Snapshot does.
	// An error, such as Busy, leaves it closed, and kv takes a Snapshot.
	Renew(ctx context.Context) error
}

// Cursor walks over pairs in the order of their keys, or in the reverse order if its range says so.
type Cursor interface {
	// Next moves to the next pair and returns it; a nil key without an error is the end, and stays
	// the end. Both slices are borrowed: they hold until the next call of Next, Seek or Close.
	Next() (key, value []byte, err error)

	// Close ends the walk. It is called once.
	Close() error
}

// Chunker is a Cursor that reads several pairs at less cost than one by one. Without it kv calls
// Next.
type Chunker interface {
	// Chunk moves past the next pairs and returns them, in order; none without an error is the end,
	// and stays the end. They are borrowed until the next call of Chunk, Seek or Close. kv calls
	// Chunk or Next of one cursor, not both.
	Chunk() ([]Pair, error)
}

// Pair is a key with its value.
type Pair struct{ Key, Value []byte }

// Ahead is what a cursor has read and not yet returned: the Next of one that reads several pairs at
// once.
type Ahead []Pair

// Next returns the next pair, for which it calls read when there is none left.
func (a *Ahead) Next(read func() ([]Pair, error)) (key, value []byte, err error) {
	if len(*a) == 0 {
		if *a, err = read(); err != nil || len(*a) == 0 {
			return nil, nil, err
		}
	}
	p := (*a)[0]
	*a = (*a)[1:]
	return p.Key, p.Value, nil
}

// Reopener is a Cursor that can be used for another scan at less cost than a new one. Without it
// kv closes the cursor at the end of each scan.
type Reopener interface {
	// Reopen moves before the first pair of r, as the Cursor of its Reader does, and keeps the
	// bounds, not r. Nothing was written since that made it. After an error it may be called again,
	// or Close.
	Reopen(r *Range) error
}

// Seeker is a Cursor that can move. Without it kv closes the cursor and opens another one.
type Seeker interface {
	// Seek moves so that the following Next returns the first pair at or after key in the direction
	// of the walk, which may lie behind. key is within the cursor's range, and stays unchanged
	// until that Next has returned.
	Seek(key []byte) error
}

// Txn is a read-write transaction that sees its own writes. It is used by one goroutine at a time.
// Close without a Commit before it rolls everything back; after a Commit, successful or not, it
// only releases.
type Txn interface {
	Reader

	// Put sets key to value. It keeps neither.
	Put(key, value []byte) error

	// Delete removes key; that it is absent is no error.
	Delete(key []byte) error

	// Commit makes the transaction visible and as durable as Begin was asked. Busy: nothing was
	// done, and Commit may be called again. Any other error ends the transaction. Whether it is
	// there is then open unless the error's kind or [NotDone] says that it is not: see [IsInDoubt].
	// It is there as a whole or not at all in any case. After one that is in doubt kv commits
	// nothing more through this Store, unless it is Remote, and goes on reading.
	Commit() error
}

// RangeDeleter is a Txn that removes all pairs in [start, end) at once; a nil bound is open.
// Without it kv deletes key by key.
type RangeDeleter interface {
	DeleteRange(start, end []byte) error
}

// Op is one step of a batch.
type Op struct {
	Key, Value []byte
	Delete     bool // remove Key; Value is not used
}

// Run makes the write of op in t.
func (op *Op) Run(t Txn) error {
	if op.Delete {
		return t.Delete(op.Key)
	}
	return t.Put(op.Key, op.Value)
}

// Apply commits ops to s as one transaction, by its Apply if it has one. It is for code that has a
// Store and no kv.
func Apply(ctx context.Context, s Store, ops []Op, d Durability) error {
	if a, ok := s.(Applier); ok {
		return a.Apply(ctx, ops, d)
	}
	return InSteps(ctx, s, ops, d)
}

// InSteps commits ops as one transaction of s, whether it is an Applier or not.
func InSteps(ctx context.Context, s Store, ops []Op, d Durability) error {
	t, err := s.Begin(ctx, d)
	if err != nil {
		return NotDone(err)
	}
	for i := range ops {
		if err := ops[i].Run(t); err != nil {
			return NotDone(errors.Join(err, t.Close()))
		}
	}
	return errors.Join(t.Commit(), t.Close())
}

// EachPair gives all pairs of the last committed state of s, in order, to do, which borrows them.
// Keys that do not ascend are Corrupt. An error of do, or the end of ctx, ends it.
func EachPair(ctx context.Context, s Store, do func(k, v []byte) error) (err error) {
	r, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	c, err := r.Cursor(Range{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var last []byte
	for {
		k, v, err := c.Next()
		if err = errors.Join(err, ctx.Err()); k == nil || err != nil {
			return err
		}
		if last != nil && bytes.Compare(last, k) >= 0 {
			return &Error{Kind: Corrupt, Err: fmt.Errorf("key %x stands behind %x", k, last), Hint: "restore a backup"}
		}
		last = append(last[:0], k...)
		if err := do(k, v); err != nil {
			return err
		}
	}
}

// Range is the half-open interval [Start, End) of keys. A nil bound is open.
//
// A driver gets normalised ranges: Start is nil or not empty, End is nil or not empty, and Start <
// End.
type Range struct {
	Start, End []byte
	Reverse    bool
	KeysOnly   bool // values are not looked at: a cursor may return nil for them
}

// Set makes r what to is, part by part: to copy as a whole what was just stored has the processor
// wait for its parts.
func (r *Range) Set(to *Range) {
	r.Start, r.End, r.Reverse, r.KeysOnly = to.Start, to.End, to.Reverse, to.KeysOnly
}

// Beyond reports whether key, which a walk over r has come to, lies behind its end.
func (r *Range) Beyond(key []byte) bool {
	bound := r.End
	if r.Reverse {
		bound = r.Start
	}
	return bound != nil && bytes.Compare(key, bound) < 0 == r.Reverse
}

// Setting is one setting of an open store.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
