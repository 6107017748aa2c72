//go:build kvdebug

package kv

import "bytes"

// lend gives copies of the pair and overwrites them afterwards, so that a program that keeps
// borrowed bytes reads rubbish at once rather than now and then.
func lend(yield func(k, v []byte) bool, k, v []byte) bool {
	k, v = bytes.Clone(k), bytes.Clone(v)
	more := yield(k, v)
	for _, b := range [][]byte{k, v} {
		for i := range b {
			b[i] = 0xdb
		}
	}
	return more
}
