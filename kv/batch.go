package kv

import (
	"slices"

	"github.com/assaydb/assay/kv/driver"
)

// Batch is a list of writes that [DB.Write] commits as one transaction, in order. The zero Batch is empty and ready.
// It is used by one goroutine at a time, and may be used again after Reset without allocating.
type Batch struct {
	ops []driver.Op
	buf []byte // owns the bytes of ops; when it grows, earlier ops keep the old array alive
}

// Put adds "set key to value". It copies both.
func (b *Batch) Put(key, value []byte) {
	n := len(b.buf)
	b.buf = append(b.extend(value), key...)
	k, end := n+len(value), len(b.buf)
	if len(b.ops) == cap(b.ops) {
		b.ops = slices.Grow(b.ops, 1)
	}
	b.ops = b.ops[:len(b.ops)+1]
	op := &b.ops[len(b.ops)-1]
	op.Key, op.Value, op.Delete = b.buf[k:end:end], b.buf[n:k:k], false
}

// Delete adds "remove key". It copies key.
func (b *Batch) Delete(key []byte) {
	b.ops = append(b.ops, driver.Op{Key: b.copy(key), Delete: true})
}

// Len returns the number of writes in the batch.
func (b *Batch) Len() int { return len(b.ops) }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.ops, b.buf = b.ops[:0], b.buf[:0]
}

// AvailableBuffer returns an empty slice with the free memory of the batch behind it. It is meant to be appended to and
// given to the Put that follows at once as its value, which then need not copy it.
func (b *Batch) AvailableBuffer() []byte { return b.buf[len(b.buf):] }

// extend returns b.buf with value behind it.
func (b *Batch) extend(value []byte) []byte {
	n, end := len(b.buf), len(b.buf)+len(value)
	if len(value) > 0 && end <= cap(b.buf) && &value[0] == &b.buf[:end][n] {
		return b.buf[:end]
	}
	return append(b.buf, value...)
}

func (b *Batch) copy(p []byte) []byte {
	n := len(b.buf)
	b.buf = append(b.buf, p...)
	return b.buf[n:len(b.buf):len(b.buf)]
}
