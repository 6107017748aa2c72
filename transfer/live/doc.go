// Package live changes the engine of a store while the program runs.
//
// A switch is a store over two stores, which a program opens in place of the old one:
//
//	db, err := live.Open(ctx, "app.switch", "bbolt:app.db", "pebble:app.data")
//	db, err := kv.Open(ctx, "switch:app.switch?old=bbolt:app.db&new=pebble:app.data") // the same by its URL
//
// One of the two is the truth: all that the program reads comes from it, and a commit is what the
// truth says of it. The other one is the shadow: it takes every commit after the truth has, and
// what it does never fails the program.
//
//	phase      truth   shadow
//	shadowed   old     new      the beginning; nothing depends on new
//	flipped    new     old      old follows, so that the way back stays open
//	dropped    new     none     old stays as it was then, for its owner to remove
//
// [Switch.Move] changes the phase while the program works, the URL's parameter phase=flipped when
// the store is opened.
//
// # Mending
//
// The shadow is made equal to the truth, and held equal, by one means: a pass over both in the
// order of their keys, some 256 KiB at a time, which puts into the shadow what differs. Writers
// wait for one such step, never for a pass. As new commits go to both meanwhile, both are equal
// after a pass. That fills a new store, brings one up to date that missed a commit, and mends one
// after a crash.
//
// # After a crash
//
// The switch keeps a small file that says which store is the truth, and whether both were equal
// when they were closed. That they were is taken back, durably, whenever the switch is opened for
// writing. So after a kill or a power loss, between the two commits or anywhere else, the truth
// holds what its own engine promises, no more and no less; and the next opening compares all of the
// shadow with it, while the program already works. A phase is changed by renaming that file, when
// the store that becomes the truth is in step and on disk. So each phase holds from one moment on
// or not at all.
//
// # What it costs
//
// A commit takes the time of both commits, one after the other, at the class that was asked for.
// What a transaction writes is held in memory until it commits. Reads are made of both stores and
// compared if the engine of the shadow lets readers and writers work without waiting for each
// other; the parameter compare=false, or a shadow that is not in step, leaves only the truth's.
//
// A shadow that a power loss has damaged, as bbolt's may be by commits that were not synced, keeps
// nobody from the truth: it is left alone until it is removed and the switch opened again.
//
// A switch has its two stores alone: one process at a time opens it. A program that opens the old
// store beside it, as SQLite allows, writes past the shadow; the next pass finds that. The folder
// keeps where the two stores are, seen from itself, so that all three may be moved together.
package live
