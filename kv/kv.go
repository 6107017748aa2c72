// Package kv is an ordered, transactional key-value store over many embedded engines, with named
// durability.
//
// A program opens a store by URL and works with concrete types:
//
//	db, err := kv.Open(ctx, "bbolt:/var/lib/app/state.db")
//	err = db.Update(ctx, kv.Synced, func(tx *kv.Tx) error { return tx.Put(key, value) })
//	err = db.View(ctx, func(s *kv.Snapshot) error { v, err := s.Get(key); ... })
//
// The engine is chosen by the URL's scheme; the program imports the engine's package for its side
// effect:
//
//	import _ "github.com/assaydb/assay/engines/bboltkv"
//
// # Durability
//
// Every commit names the class it needs: [Synced] survives power loss, [Flushed] survives the death
// of the process, [Buffered] survives nothing. An engine may deliver more than was asked, never
// less; what it cannot deliver is an error of kind [Unsupported]. [Caps] tells what each class
// delivers on an open store: see [Promise].
//
// # Transactions
//
// [DB.View] runs a function on a snapshot of the last committed state. [DB.Update] runs one on a
// serializable read-write transaction; there is one writer at a time. [DB.Write] commits a [Batch]
// without reading. [DB.Snapshot] and [DB.Begin] are the same for programs whose reading or writing
// does not fit into one function. All are atomic.
//
// # After an error
//
// A commit is done (no error), not done, or in doubt. Not done: nothing of it is there, now or
// later, and the next one may be tried. In doubt, an error of kind [InDoubt]: a write or a sync
// failed amid it. It is there as a whole or not at all, and which of the two is decided when the
// store is opened again; until then reads may show either. Because what follows would build on it,
// the handle then takes no more commits: they fail with [Stopped], and nothing of them is done.
// Close the store and open it again. On a store that is Remote (see [Caps]) commits go on. What
// caused the doubt is found by errors.Is, too: [Full], [Permission].
//
// # Bytes
//
// The pairs of a scan are borrowed until its next step; everything else that kv returns is the
// caller's, and kv keeps nothing of what it is given. Keys are at least one byte; a value may be
// empty, which is not the same as absent.
package kv

import "github.com/assaydb/assay/kv/driver"

// Durability is what an acknowledged commit survives. The zero value is the safest.
type Durability = driver.Durability

// The classes of durability, the strongest first.
const (
	Synced   = driver.Synced   // survives power loss
	Flushed  = driver.Flushed  // survives the death of the process, not a power loss
	Buffered = driver.Buffered // survives nothing
)

// Mode is how processes share a store.
type Mode = driver.Mode

// The modes of opening.
const (
	Exclusive = driver.Exclusive // no other process may have the store open
	Shared    = driver.Shared    // several processes may have the store open, reading and writing
	ReadOnly  = driver.ReadOnly  // this handle changes nothing
)

// Kind is a class of error: errors.Is(err, kv.Busy).
type Kind = driver.Kind

// The kinds of error.
const (
	NotFound    = driver.NotFound    // the key is absent
	Invalid     = driver.Invalid     // an argument is wrong
	Unsupported = driver.Unsupported // the engine cannot do what was asked
	TooLarge    = driver.TooLarge    // a key, value or transaction is over the engine's limit
	Busy        = driver.Busy        // another process or transaction holds a lock
	Conflict    = driver.Conflict    // an expectation about the stored data did not hold
	Corrupt     = driver.Corrupt     // the stored data is damaged
	Closed      = driver.Closed      // the store, snapshot or transaction has ended
	NotWritable = driver.NotWritable // a write to a store opened read-only
	NoStore     = driver.NoStore     // the file or folder does not exist
	Permission  = driver.Permission  // the operating system refuses access
	Full        = driver.Full        // no space is left on the device
	Canceled    = driver.Canceled    // the context ended
	InDoubt     = driver.InDoubt     // a commit may be there or not; opening the store again tells
	Stopped     = driver.Stopped     // the handle takes no more commits after one in doubt
	Aborted     = driver.Aborted     // the transaction met others too often
)

// Error is the error type of this package. Its Hint says how to go on.
type Error = driver.Error

// Caps says as data what a store can do.
type Caps = driver.Caps

// Promise is what an engine delivers for a class that it was asked for.
type Promise = driver.Promise

// Blocking says whether one kind of user of a store keeps another kind waiting: see [Caps].
type Blocking = driver.Blocking

// How often.
const (
	Never     = driver.Never
	Sometimes = driver.Sometimes
	Always    = driver.Always
)

// Setting is one setting of an open store, under the engine's own name for it.
type Setting = driver.Setting

// KindOf returns the kind of err, or driver.Other.
func KindOf(err error) Kind { return driver.KindOf(err) }

// HintOf returns what err says about how to go on, or "".
func HintOf(err error) string { return driver.HintOf(err) }

// ParseDurability returns the class called "synced", "flushed" or "buffered". Any other name is
// Invalid.
func ParseDurability(name string) (Durability, error) { return driver.ParseDurability(name) }
