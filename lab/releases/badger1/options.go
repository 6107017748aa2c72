//go:build !v15

package main

import "github.com/dgraph-io/badger"

// defaults are Badger's own, but that it opens after a crash.
func defaults(dir string) badger.Options {
	return badger.DefaultOptions(dir).WithLogger(nil).WithTruncate(true)
}
