package feed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/assaydb/assay/kv"
)

// keeper is the Backend that lays messages and blocks out in a table.
type keeper struct {
	table   Table
	options Options
	codec   *codec // nil without compression

	// seen is what readers may see, if nobody else appends: a store may show a commit before it is
	// durable.
	seen atomic.Pointer[extent]

	// The rest is used by Append alone. tail is as stored when this feed appended last, if known is
	// set.
	known   bool
	stored  bool // meta is, for ever
	tail    tail
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

// Keep returns the feed that is kept in a table, with options that fit what is there. It is for
// backends; the table is closed if it fails.
func Keep(ctx context.Context, table Table, opts *Options) (*Feed, error) {
	k := &keeper{table: table}
	if err := k.open(ctx, opts); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return NewFeed(k), nil
}

func (k *keeper) open(ctx context.Context, opts *Options) (err error) {
	if k.options, err = opts.Complete(); err != nil {
		return err
	}
	err = k.table.View(ctx, func(r Rows) error {
		stored, err := r.Meta()
		if err != nil {
			return err
		}
		if k.stored = stored != nil; k.stored {
			if err := k.options.match(stored); err != nil {
				return err
			}
		}
		k.tail, err = k.readTail(r)
		return err
	})
	if err != nil {
		return err
	}
	k.known = true
	k.see(k.tail)
	if k.options.Compression == Zstd {
		k.codec, err = newCodec(k.options.Dictionary)
	}
	return err
}

func (k *keeper) see(t tail) { k.seen.Store(&extent{t.end, t.first, t.trimmed}) }

// Close implements Backend.
func (k *keeper) Close() error {
	if k.codec != nil {
		k.codec.close()
	}
	return k.table.Close()
}

// readTail reads the end of the feed, with the messages that will go into the next block.
func (k *keeper) readTail(r Rows) (t tail, err error) {
	trimmed, _, err := r.Trimmed()
	if err != nil {
		return t, err
	}
	first, last, some, err := r.Bounds(max(k.tail.first, trimmed))
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
	err = r.Messages(first, func(seq uint64, message []byte) bool {
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
func sealed(r Rows, seq uint64) (uint64, error) {
	_, end, err := blockAt(r, seq)
	return end, err
}

// blockAt returns the sequences that the last block that begins at or below seq holds, from first
// up to end, 0 and 0 if there is none.
func blockAt(r Rows, seq uint64) (first, end uint64, err error) {
	first, block, err := r.Block(nil, seq)
	if errors.Is(err, kv.NotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	n, err := Count(block)
	if err != nil {
		return 0, 0, corrupt(fmt.Errorf("block of message %d: %w", first, err))
	}
	return first, first + n, nil
}
