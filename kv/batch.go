package kv

import "github.com/assaydb/assay/kv/driver"

// Batch is a list of writes that [DB.Write] commits as one transaction, in order. The zero Batch is empty and ready.
// It is used by one goroutine at a time, and may be used again after Reset without allocating.
type Batch struct {
	ops []driver.Op
	buf []byte // owns the bytes of ops; when it grows, earlier ops keep the old array alive
}

// Put adds "set key to value". It copies both.
func (b *Batch) Put(key, value []byte) {
	b.ops = append(b.ops, driver.Op{Key: b.copy(key), Value: b.copy(value)})
}

// Delete adds "remove key". It copies key.
func (b *Batch) Delete(key []byte) {
	b.ops = append(b.ops, driver.Op{Key: b.copy(key), Delete: true})
}

// Len returns the number of writes in the batch.
func (b *Batch) Len() int { return len(b.ops) }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	clear(b.ops)
	b.ops, b.buf = b.ops[:0], b.buf[:0]
}

func (b *Batch) copy(p []byte) []byte {
	n := len(b.buf)
	b.buf = append(b.buf, p...)
	return b.buf[n:len(b.buf):len(b.buf)]
}
