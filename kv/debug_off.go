//go:build !kvdebug

package kv

// debug is set by the build tag kvdebug, under which borrowed bytes are overwritten once they are no longer borrowed
// and ended snapshots are never used again.
const debug = false

func lend(yield func(k, v []byte) bool, k, v []byte) bool { return yield(k, v) }
