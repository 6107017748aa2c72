package feed

import (
	"context"

	"github.com/assaydb/assay/kv"
)

// Table is where a feed keeps its messages, by sequence, and its blocks, by the sequence of their
// first message. It is what a backend that Open does not know implements: see [Over] and [Keep].
type Table interface {
	// View runs fn on a fixed state.
	View(ctx context.Context, fn func(Rows) error) error

	// Update runs fn in a transaction of class d and commits what it wrote. The Rows are nil if
	// nobody else writes to the table. fn may be run again.
	Update(ctx context.Context, d kv.Durability, fn func(Rows, Writer) error) error

	// Shared tells that others may append too.
	Shared() bool

	// Close releases what the table itself opened.
	Close() error
}

// Rows reads a fixed state of a table, for one goroutine. Bytes given to a yield are borrowed until
// it returns.
type Rows interface {
	// Meta returns what PutMeta stored, or nil.
	Meta() (*Meta, error)

	// Trimmed returns what PutTrimmed stored last, or zeros.
	Trimmed() (before, freed uint64, err error)

	// Bounds returns the first and the last sequence that has a message of its own. None below from
	// has: those were put into blocks, and are not to be looked for where they were.
	Bounds(from uint64) (first, last uint64, some bool, err error)

	// Message appends the message of its own with a sequence to dst, or is NotFound.
	Message(dst []byte, seq uint64) ([]byte, error)

	// Messages yields the messages of their own from a sequence on, in order.
	Messages(from uint64, yield func(seq uint64, message []byte) bool) error

	// Block appends to dst the last block that begins at or below a sequence, or is NotFound.
	Block(dst []byte, seq uint64) (first uint64, block []byte, err error)

	// Blocks yields the blocks that begin at a sequence or above it, in order.
	Blocks(from uint64, yield func(first uint64, block []byte) bool) error
}

// Writer changes a table. It keeps nothing of what it is given.
type Writer interface {
	PutMeta(*Meta) error
	PutMessage(seq uint64, message []byte) error
	DeleteMessages(from, to uint64) error // those from one sequence up to, not including, another
	PutBlock(first uint64, block []byte) error

	// PutTrimmed is for Rows.Trimmed. Free deletes the messages of their own from one sequence up
	// to, not including, another, and the blocks that begin below a third.
	PutTrimmed(before, freed uint64) error
	Free(from, to, blocks uint64) error
}
