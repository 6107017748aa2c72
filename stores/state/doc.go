// Package state is the store of a program that starts, works for a millisecond and ends, hundreds
// of times: a hook that an editor calls at every key, a prompt, a command in a script. Many of them
// run at once, and some are killed.
//
//	import _ "github.com/assaydb/assay/engines/bboltkv"
//
//	url, err := state.Home("mytool") // bbolt:/home/ada/.local/state/mytool
//	store, err := state.New(url, &state.Options{Buckets: []state.Bucket{
//		{Name: "checkpoints"},
//		{Name: "answers", Kind: state.Cache, TTL: 24 * time.Hour},
//		{Name: "tokens", Kind: state.Secret},
//	}})
//
//	err = store.Put(ctx, "checkpoints", []byte("session-7"), value)
//	value, err := store.Get(ctx, "checkpoints", []byte("session-7"))
//	if errors.Is(err, kv.NotFound) { ... }
//
// New opens nothing, and there is nothing to close. Each call opens the file of its bucket, does
// its work and closes it again, so no lock is held while the program computes, or waits for a
// network, between two calls. A call that does several things as one, and pays for one opening, is
// [Store.View] to read or [Store.Update] to write:
//
//	err = store.Update(ctx, "checkpoints", func(tx *state.Tx) error {
//		n, err := tx.Get(key)
//		...
//		return tx.Put(key, next)
//	})
//
// Values are bytes. [In] gives a bucket whose values are of a type, kept as JSON.
//
// # Buckets
//
// A bucket is a set of keys. Its [Kind] says what happens to it:
//
//	State   what must not be lost. Commits survive power loss, unless Options says less. A damaged file is an error
//	        with the kind kv.Corrupt, and its hint says how to go on.
//	Cache   what can be made again. Entries are not found once they are older than the bucket's TTL, and there are never
//	        more than the bucket's Max. Commits survive the death of the process. A damaged file is set aside under
//	        another name, reported, and an empty one begun.
//	Secret  as State, in a file that only its owner may read (mode 0600; on Windows, what the folder says).
//
// Each kind is a file of its own in the folder: state.db, cache.db, secrets.db. The folder is made
// with mode 0700. Changes of several buckets of one kind can be one transaction: see [Tx.In].
//
// Every entry carries a checksum and the time when it was written, so a flipped bit in a value is
// found when it is read, on engines that do not look, too; and [Store.DeleteStale] deletes what is
// older than a time. Damage to the engine's own pages is for the engine to find: bbolt finds most
// of it, but a flipped bit in the head of a page can keep a commit, or Check, busy for minutes.
//
// # Several processes
//
// Any number of processes may use a folder at the same time. Who does not get a file at once stands
// in line for it, in the kernel's queue for a lock beside it (.lock-state), so that hundreds cost
// nothing while they wait. After Options.Wait (0.9 s) a call fails with kv.Busy, having done
// nothing. A writer has the lock for one opening, one commit, one closing.
//
// With bbolt or SQLite readers do not wait for each other, but for the writer at work, and with
// bbolt for writers that came before them; with Badger they open one after the other. BuntDB and
// Pebble let one process at a time have a file open: their readers wait for each other, too.
//
// A process may be killed at any moment. What was acknowledged, by a method that returned nil, is
// there; the next process gets the lock at once.
//
// # Migration from SQLite
//
// A program that kept its keys and values in SQLite before names the old file in Options.Older, or
// finds it where the new one belongs: in the file of a kind, or whatever Options.Files calls it.
// state knows it by its first bytes. The first process that comes reads it with Options.Legacy into
// new files, one for each kind that it has entries of, which are built beside, synced and renamed;
// the others wait. The old file is kept with the ending ".sqlite", or removed. A process that is
// killed meanwhile leaves what the next goes on with. As long as an old file may have secrets that
// were not moved, a call for one that is not there is an error.
//
// Package sqlitelegacy has a Legacy for tables of keys and values. It also keeps an older program
// that is still running from changing what was moved.
//
// # Engines
//
// The engine is the URL's scheme. [Home] takes bbolt, the fastest of those that assay measures for
// this shape:
//
//	assay run hook
//
// To have another engine is to have another URL; the data is not carried over by that.
package state
