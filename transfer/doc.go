// Package transfer copies stores from one engine to another, whole and verified.
//
//	report, err := transfer.Copy(ctx, "sqlite:old.db", "pebble:data", nil)
//	comparison, err := transfer.Verify(ctx, "sqlite:old.db", "pebble:data", nil)
//
// [Copy] reads one snapshot of the source in the order of its keys, and holds a few megabytes of it
// in memory. It writes beside the destination, syncs what it wrote, reads it again and compares
// number and digest of the pairs with what it read; only then does it give the new store its name.
// So the destination is the whole copy or it is not there, whatever happens meanwhile. What a copy
// that was killed left behind is where the next one goes on.
//
// A pair that the destination's engine cannot hold is found before anything is copied, and all of
// them are named.
//
// What is committed to the source after the snapshot is not in the copy. Who wants to go on with
// the copy alone stops the programs that write first; [Migrate] keeps them out meanwhile, as far as
// the source's engine can.
//
// # Digest
//
// The digest of a store is the SHA-256 of its pairs in ascending order of keys, each as the length
// of the key, the key, the length of the value, the value; lengths are unsigned varints as of
// encoding/binary. It does not depend on the engine.
package transfer
