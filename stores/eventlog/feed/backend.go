package feed

import (
	"context"

	"github.com/assaydb/assay/kv"
)

// Backend is what keeps a feed. Programs use [Feed].
type Backend interface {
	// Append appends the messages, of which there is at least one, as one transaction of class d,
	// and returns the sequence of the first. It keeps nothing of them, and is called by one
	// goroutine at a time. Canceled means that ctx ended before the commit began.
	Append(ctx context.Context, d kv.Durability, messages [][]byte) (first uint64, err error)

	// View runs fn on the feed as it is now.
	View(ctx context.Context, fn func(Reader) error) error

	// Close releases what the backend itself opened. No other call is running.
	Close() error
}

// Reader is a backend's fixed state, used by one goroutine.
type Reader interface {
	// Len returns the number of messages.
	Len() uint64

	// Append appends the message with a sequence below Len to dst. An erased message is NotFound.
	Append(dst []byte, seq uint64) ([]byte, error)

	// Scan calls yield with the messages from one sequence up to, not including, another that is at
	// most Len, until it returns false. A message is borrowed until yield returns; an erased one is
	// nil, an empty one is not.
	Scan(from, to uint64, yield func(seq uint64, message []byte) bool) error
}
