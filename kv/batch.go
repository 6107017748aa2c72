package kv

import (
	"slices"

	"github.com/assaydb/assay/kv/driver"
)

// Batch is a list of writes that [DB.Write] commits as one transaction, in order. The zero Batch is
// empty and ready. It is used by one goroutine at a time, and may be used again after Reset without
// allocating.
type Batch struct {
	ops []driver.Op
	buf []byte // owns the bytes of ops; when it grows, earlier ops keep the old array alive

	longestKey, longestValue int
	emptyKey                 bool

	ranges []rangeAt
	turn   func() error // of OnTurn
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
	b.longestKey, b.longestValue = max(b.longestKey, len(key)), max(b.longestValue, len(value))
	b.emptyKey = b.emptyKey || len(key) == 0
}

// Delete adds "remove key". It copies key.
func (b *Batch) Delete(key []byte) {
	b.ops = append(b.ops, driver.Op{Key: b.copy(key), Delete: true})
	b.longestKey = max(b.longestKey, len(key))
	b.emptyKey = b.emptyKey || len(key) == 0
}

// DeleteRange adds "remove all keys of r". It copies the bounds.
func (b *Batch) DeleteRange(r Range) {
	if r.empty() {
		return
	}
	d := rangeAt{len(b.ops), Range{Start: b.copy(r.Start)}}
	if r.End != nil {
		d.r.End = b.copy(r.End)
	}
	b.ranges = append(b.ranges, d)
}

// OnTurn has fn called when b's turn to be written has come: nothing of it is written yet, and no
// [Tx] of this opening of the store is running. If fn returns an error nothing is written and Write
// returns that. It is for a batch that was made from what the program keeps in memory of the store,
// which a transaction may have changed since. fn must not call the store. Reset forgets it, and Run
// and Replay do not call it.
func (b *Batch) OnTurn(fn func() error) { b.turn = fn }

// rangeAt is a range to delete before the write ops[at].
type rangeAt struct {
	at int
	r  Range
}

// Writer takes writes: a [Tx], or whatever a program wants the writes of a batch for.
type Writer interface {
	Put(key, value []byte) error
	Delete(key []byte) error
	DeleteRange(r Range) error
}

// Run makes the writes of b through tx, in order: b as a part of a larger transaction.
func (b *Batch) Run(tx *Tx) error { return b.Replay(tx) }

// runInTurn is Run within the transaction that Write makes of b.
func (b *Batch) runInTurn(tx *Tx) error {
	if b.turn != nil {
		if err := b.turn(); err != nil {
			return err
		}
	}
	return b.Run(tx)
}

// Replay makes the writes of b to w, in order. w keeps nothing of what it is given.
func (b *Batch) Replay(w Writer) (err error) {
	ranges := b.ranges
	for i := 0; ; i++ {
		for ; err == nil && len(ranges) > 0 && ranges[0].at == i; ranges = ranges[1:] {
			err = w.DeleteRange(ranges[0].r)
		}
		if err != nil || i == len(b.ops) {
			return err
		}
		if op := &b.ops[i]; op.Delete {
			err = w.Delete(op.Key)
		} else {
			err = w.Put(op.Key, op.Value)
		}
	}
}

// check returns the error of the first write that a store with these Caps does not take.
func (b *Batch) check(caps *Caps) error {
	if !b.emptyKey && (caps.MaxKey == 0 || b.longestKey <= caps.MaxKey) &&
		(caps.MaxValue == 0 || b.longestValue <= caps.MaxValue) {
		return nil
	}
	for i := range b.ops {
		if err := checkPair(caps, b.ops[i].Key, b.ops[i].Value); err != nil {
			return err
		}
	}
	return nil
}

// Len returns the number of writes in the batch.
func (b *Batch) Len() int { return len(b.ops) + len(b.ranges) }

// Size returns the number of bytes in the keys and values of the batch.
func (b *Batch) Size() int { return len(b.buf) }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	*b = Batch{ops: b.ops[:0], buf: b.buf[:0], ranges: b.ranges[:0]}
}

// AvailableBuffer returns an empty slice with the free memory of the batch behind it. It is meant
// to be appended to and given to the Put that follows at once as its value, which then need not
// copy it.
func (b *Batch) AvailableBuffer() []byte { return b.buf[len(b.buf):] }

// extend returns b.buf with value behind it.
func (b *Batch) extend(value []byte) []byte {
	n, end := len(b.buf), len(b.buf)+len(value)
	if len(value) > 0 && end <= cap(b.buf) && &value[0] == &b.buf[:end][n] {
		return b.buf[:end]
	}
	return append(b.buf, value...)
}

// below returns the writes of b with prefix before each key.
func (b *Batch) below(prefix []byte) []driver.Op {
	ops := make([]driver.Op, len(b.ops))
	buf := make([]byte, 0, len(b.buf)+len(b.ops)*len(prefix))
	for i, op := range b.ops {
		n := len(buf)
		buf = append(append(buf, prefix...), op.Key...)
		ops[i] = driver.Op{Key: buf[n:len(buf):len(buf)], Value: op.Value, Delete: op.Delete}
	}
	return ops
}

func (b *Batch) copy(p []byte) []byte {
	n := len(b.buf)
	b.buf = append(b.buf, p...)
	return b.buf[n:len(b.buf):len(b.buf)]
}
