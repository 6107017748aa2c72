package eventlog

import (
	"context"

	"github.com/assaydb/assay/kv"
)

// Backend is what keeps a log. Programs use [Log]; a backend holds only what is particular to where
// the events are: Log checks arguments, queues appends, reads in batches and waits.
type Backend interface {
	// Traits tells what the backend can do.
	Traits() Traits

	// Commit appends, in order and as one transaction, those of group whose expectation holds at
	// their place in it, and sets Appended or Err of each, whatever was there. It returns when
	// readers may see the events. If it returns an error nothing was appended, and what it set is
	// void; Canceled means that ctx ended before the commit began. It keeps nothing of group, and
	// is called by one goroutine at a time.
	Commit(ctx context.Context, d kv.Durability, group []*Pending) error

	// Truncate removes the events below a position, of which there is one, as several transactions
	// if they are many. The versions of their streams stay.
	Truncate(ctx context.Context, d kv.Durability, before uint64) error

	// Load returns the events of a span of positions in its order, all as of one moment.
	Load(ctx context.Context, r Span) ([]Event, error)

	// LoadStream returns the events of a span of versions in a stream, in its order and all as of
	// one moment.
	LoadStream(ctx context.Context, stream string, r Span) ([]Event, error)

	// LastPosition returns the position of the last event, 0 if there is none.
	LastPosition(ctx context.Context) (uint64, error)

	// StreamVersion returns the version of the stream's last event, 0 if there is none.
	StreamVersion(ctx context.Context, stream string) (uint64, error)

	// Streams returns the first streams, by name and at most limit, whose name is above after and
	// begins with prefix.
	Streams(ctx context.Context, prefix, after string, limit int) ([]Stream, error)

	// Bookmark returns a subscription's position, creating the subscription at 0 if there is none.
	Bookmark(ctx context.Context, name string) (uint64, error)

	// SetBookmarks raises the positions of subscriptions as one transaction; a lower one changes
	// nothing. It sets Err of each, whatever was there: NotFound if there is no such subscription,
	// which stops no other. If it returns an error nothing was changed; Canceled means that ctx
	// ended before the commit began.
	SetBookmarks(ctx context.Context, d kv.Durability, marks []*Mark) error

	// Bookmarks returns the positions of all subscriptions by name, sorted.
	Bookmarks(ctx context.Context) ([]Bookmark, error)

	// Park records that a subscription could not deal with the event at position, and why; again
	// replaces it.
	Park(ctx context.Context, d kv.Durability, name string, position uint64, cause string) error

	// Parked returns what Park recorded, in order, of each Event no more than the Position.
	Parked(ctx context.Context, name string) ([]Parked, error)

	// Unpark removes what Park recorded. No such record is NotFound.
	Unpark(ctx context.Context, d kv.Durability, name string, position uint64) error

	// Lease gives a subscription to holder until a moment in ms since 1970, unless at now somebody
	// else has it: that is a Conflict. It creates the subscription. Until 0 gives it back.
	Lease(ctx context.Context, name, holder string, now, until int64) error

	// Leases returns how far the subscriptions have come whose names begin with prefix, and when
	// their leases end.
	Leases(ctx context.Context, prefix string) ([]Leased, error)

	// DeleteBookmark removes a subscription with what it parked. No such subscription is NotFound.
	DeleteBookmark(ctx context.Context, name string) error

	// Close gives back what was reserved and releases what the backend itself opened. No Commit is
	// running.
	Close() error
}

// Traits says as data what a backend can do.
type Traits struct {
	Streams bool // versions are kept: see Options.Streams
	Shared  bool // other processes, or other Logs, may append too
}

// Joined is a log within a transaction of the program's. It is used by one goroutine.
type Joined interface {
	// Append appends as Commit does what is one append, and sets Appended of each part. If it
	// returns a Conflict nothing was appended. Refill is how many positions to reserve soon, 0 if
	// enough are.
	Append(parts []*Pending) (refill uint64, err error)

	// Ack raises the position of a subscription. One above the last event is Invalid, no such
	// subscription NotFound.
	Ack(name string, position uint64) error

	// OnCommit has fn called once the transaction is committed. Where that cannot be known fn is
	// not called.
	OnCommit(fn func())

	// Bookmark returns a subscription's position as the transaction has it. That there is none is
	// NotFound. Where transactions run beside each other, no other one changes it until this ends.
	Bookmark(name string) (position uint64, err error)

	// Fail has the transaction end with err, where that can be done.
	Fail(err error)
}

// Pending is one append of a group, or a part of it, and its outcome.
type Pending struct {
	Stream   string // "" is none
	Expected Expected
	Drafts   []Draft    // checked, each with a Time
	More     []*Pending // further parts of the same append, to other streams: all or none
	Reserve  uint64     // reserve so many positions, too

	Appended Appended
	Err      error // the Conflict of this append alone
}

// Parts returns p and its further parts, in the memory of to.
func (p *Pending) Parts(to []*Pending) []*Pending { return append(append(to[:0], p), p.More...) }

// fail makes err the outcome of p.
func (p *Pending) fail(err error) {
	p.Appended, p.Err = Appended{}, err
	for _, part := range p.More {
		part.Appended, part.Err = Appended{}, err
	}
}

// Stream is a stream and the version of its last event.
type Stream struct {
	Name    string
	Version uint64
}

// Bookmark is how far a subscription has come.
type Bookmark struct {
	Name     string
	Position uint64 // every event up to it is acknowledged
}

// Leased is a subscription that may be held by one.
type Leased struct {
	Bookmark
	Until int64 // in ms since 1970; 0 if nobody holds it
}

// Mark is a bookmark to set, and its outcome.
type Mark struct {
	Name     string
	Position uint64
	Holder   string // who must have its lease, or ""; else it is a Conflict
	Err      error  // the NotFound or Conflict of this mark alone
}
