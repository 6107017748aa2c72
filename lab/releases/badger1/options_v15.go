//go:build v15

package main

import "github.com/dgraph-io/badger"

// defaults are those of releases 1.4 and 1.5, which have a variable for them.
func defaults(dir string) badger.Options {
	o := badger.DefaultOptions
	o.Dir, o.ValueDir = dir, dir
	o.Truncate = true // it does not open after a crash otherwise
	// A compactor sleeps for up to a second before it can be closed, and so would every opening.
	// The value log, in which the commits are, does without.
	o.DoNotCompact = true
	return o
}
