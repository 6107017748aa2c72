package feed

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/assaydb/assay/kv"
)

// keeper is the Backend that keeps messages, by sequence, and blocks, by the sequence of their
// first message, in a key-value store.
type keeper struct {
	db      *kv.DB
	shared  bool   // others may append too
	leave   func() // of keyspace.Enter; nil of one that is not open
	options Options
	codec   *codec // nil without compression

	// seen is what readers may see, if nobody else appends: a store may show a commit before it is
	// durable.
	seen  atomic.Pointer[extent]
	epoch atomic.Uint64 // counts the transactions that appended, unless shared

	// The rest is used by Append and Trim alone. If known is set, tail is as stored when this feed
	// appended last, or, as of an epoch, read it.
	known   bool
	asOf    uint64
	onTurn  func() error // isCurrent; nil if shared
	stored  bool         // meta is, for ever
	tail    tail
	batch   kv.Batch
	block   []byte
	content []byte
}

var _ Backend = (*keeper)(nil)

// extent is the number of messages, how many of them are in blocks, and how many of these are
// trimmed.
type extent struct{ end, first, trimmed uint64 }

// tail is the end of a feed: the messages that are in no block yet.
type tail struct {
	trimmed  uint64 // what is below is no more
	first    uint64 // sequence of the first of them
	end      uint64 // of the next message
	messages [][]byte
}

// open reads what is stored, and has options that fit it.
func (k *keeper) open(r *rows, opts *Options) (err error) {
	if k.options, err = opts.complete(); err != nil {
		return err
	}
	stored, err := r.meta()
	if err != nil {
		return err
	}
	if k.stored = stored != nil; k.stored {
		if err := k.options.match(stored); err != nil {
			return err
		}
	}
	if k.tail, err = k.readTail(r); err != nil {
		return err
	}
	k.known = true
	k.see(k.tail)
	if k.options.Compression == Zstd {
		k.codec, err = newCodec(k.options.Dictionary)
	}
	return err
}

// see has readers see what is up to t. One who tells it late takes nothing back.
func (k *keeper) see(t tail) {
	for {
		before := k.seen.Load()
		now := extent{t.end, t.first, t.trimmed}
		if before != nil {
			now = extent{max(now.end, before.end), max(now.first, before.first), max(now.trimmed, before.trimmed)}
		}
		if k.seen.CompareAndSwap(before, &now) {
			return
		}
	}
}

// Close implements Backend. The store is the caller's.
func (k *keeper) Close() error {
	if k.codec != nil {
		k.codec.close()
	}
	if k.leave != nil {
		k.leave()
	}
	return nil
}

// readTail reads the end of the feed, with the messages that will go into the next block.
func (k *keeper) readTail(r *rows) (t tail, err error) {
	trimmed, _, err := r.trimmed()
	if err != nil {
		return t, err
	}
	first, last, some, err := r.bounds(max(k.tail.first, trimmed))
	if err != nil {
		return t, err
	}
	if !some {
		t.trimmed = trimmed
		t.first, err = sealed(r, math.MaxUint64)
		t.first = max(t.first, trimmed)
		t.end = t.first
		return t, err
	}
	if k.known && first == k.tail.first && last+1 == k.tail.end && trimmed == k.tail.trimmed {
		return k.tail, nil // messages do not change: nobody has appended since
	}
	t.trimmed, t.first, t.end = trimmed, first, last+1
	if k.options.Compression == Plain {
		return t, nil
	}
	next := first
	err = r.messages(first, func(seq uint64, message []byte) bool {
		if seq != next {
			return false
		}
		next++
		t.messages = append(t.messages, append([]byte(nil), message...))
		return true
	})
	if err == nil && next != t.end {
		err = corrupt(fmt.Errorf("message %d is missing", next))
	}
	return t, err
}

// sealed returns the sequence after the last block that begins at or below seq, 0 if there is none.
func sealed(r *rows, seq uint64) (uint64, error) {
	_, end, err := blockAt(r, seq)
	return end, err
}

// blockAt returns the sequences that the last block that begins at or below seq holds, from first
// up to end, 0 and 0 if there is none.
func blockAt(r *rows, seq uint64) (first, end uint64, err error) {
	first, block, err := r.block(nil, seq)
	if errors.Is(err, kv.NotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	n, _, _, err := header(block)
	if err != nil {
		return 0, 0, corrupt(fmt.Errorf("block of message %d: %w", first, err))
	}
	return first, first + n, nil
}
