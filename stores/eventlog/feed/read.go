package feed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/assaydb/assay/kv"
)

// keptReader reads messages wherever they are.
type keptReader struct {
	k     *keeper
	rows  *rows
	n     uint64
	first uint64 // what is below is in blocks
	trim  uint64 // what is below is no more
	page  page   // the block read last
	block []byte // memory
}

var _ Reader = (*keptReader)(nil)

var readers = sync.Pool{New: func() any { return new(keptReader) }}

// View implements Backend. What can be seen is settled before the state is fixed, so that all of it
// is there.
func (k *keeper) View(ctx context.Context, fn func(Reader) error) error {
	seen := *k.seen.Load()
	return k.view(ctx, func(at *rows) error { return k.read(at, seen, fn) })
}

// read runs fn on a fixed state, of which so much is to be seen.
func (k *keeper) read(at *rows, seen extent, fn func(Reader) error) error {
	r := readers.Get().(*keptReader)
	defer readers.Put(r)
	r.k, r.rows, r.n, r.first, r.trim, r.page.ends = k, at, seen.end, seen.first, seen.trimmed, r.page.ends[:0]
	defer func() { r.k, r.rows = nil, nil }()
	if k.shared {
		if err := r.measure(true); err != nil {
			return err
		}
	}
	return fn(r)
}

// measure reads how many messages are in blocks and trimmed and, if the table is shared, how many
// there are.
func (r *keptReader) measure(shared bool) error {
	trimmed, _, err := r.rows.trimmed()
	if err != nil {
		return err
	}
	first, last, some, err := r.rows.bounds(max(r.first, trimmed))
	if err == nil && !some {
		first, err = sealed(r.rows, math.MaxUint64)
		first = max(first, trimmed)
		last = first - 1
	}
	if err != nil {
		return err
	}
	if r.first, r.trim = first, trimmed; shared {
		r.n = last + 1
	}
	return nil
}

// First implements Reader.
func (r *keptReader) First() uint64 { return r.trim }

// Len implements Reader.
func (r *keptReader) Len() uint64 { return r.n }

// Append implements Reader.
func (r *keptReader) Append(dst []byte, seq uint64) ([]byte, error) {
	if seq >= r.first {
		message, err := r.rows.message(dst, seq)
		if !errors.Is(err, kv.NotFound) {
			return message, err
		}
		if err := r.measure(false); err != nil { // it was put into a block before the state was fixed
			return dst, err
		}
		if seq < r.trim {
			return dst, trimmed(seq, r.trim)
		}
		if seq >= r.first {
			return dst, missing(seq)
		}
	}
	if !r.page.holds(seq) {
		if err := r.turn(seq); err != nil {
			return dst, err
		}
	}
	return append(dst, r.page.message(seq)...), nil
}

// turn reads the block that the message with a sequence is in.
func (r *keptReader) turn(seq uint64) error {
	first, block, err := r.rows.block(r.block[:0], seq)
	if errors.Is(err, kv.NotFound) {
		if err := r.measure(false); err == nil && seq < r.trim { // since this view began
			return trimmed(seq, r.trim)
		}
		return missing(seq)
	}
	if err != nil {
		return err
	}
	r.block = block
	if err := r.load(first, block); err != nil {
		return err
	}
	if !r.page.holds(seq) {
		return missing(seq)
	}
	return nil
}

func (r *keptReader) load(first uint64, block []byte) error {
	if r.k.codec == nil {
		return corrupt(fmt.Errorf("there is a block of message %d, and the feed is not compressed", first))
	}
	return r.page.load(r.k.codec, first, block)
}

// Scan implements Reader.
func (r *keptReader) Scan(from, to uint64, yield func(seq uint64, message []byte) bool) error {
	if err := r.measure(false); err != nil {
		return err
	}
	next, stopped := max(from, r.trim), false
	if next >= to {
		return nil
	}
	step := func(message []byte) bool {
		stopped = !yield(next, message)
		next++
		return !stopped && next < to
	}
	if next < r.first {
		if err := r.scanBlocks(&next, step); err != nil || stopped || next == to {
			return err
		}
	}
	whole := true
	err := r.rows.messages(next, func(seq uint64, message []byte) bool {
		if whole = seq == next; !whole {
			return false
		}
		return step(message)
	})
	if err == nil && !stopped && (!whole || next < to) {
		err = missing(next)
	}
	return err
}

// scanBlocks gives the messages in blocks to step, beginning with *next, until it returns false or
// there are no more.
func (r *keptReader) scanBlocks(next *uint64, step func(message []byte) bool) error {
	if !r.page.holds(*next) {
		if err := r.turn(*next); err != nil {
			return err
		}
	}
	for *next < r.page.end() {
		if !step(r.page.message(*next)) {
			return nil
		}
	}
	if *next >= r.first {
		return nil
	}
	var err error
	scanned := r.rows.blocks(*next, func(first uint64, block []byte) bool {
		if first != *next {
			err = missing(*next)
			return false
		}
		if err = r.load(first, block); err != nil {
			return false
		}
		for *next < r.page.end() {
			if !step(r.page.message(*next)) {
				return false
			}
		}
		return *next < r.first
	})
	return errors.Join(err, scanned)
}

func missing(seq uint64) error { return corrupt(fmt.Errorf("message %d is missing", seq)) }
