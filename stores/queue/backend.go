package queue

import (
	"context"
	"time"

	"github.com/assaydb/assay/kv"
)

// Backend is what keeps queues. Programs use [Store] and [Queue]; a backend holds only what is
// particular to where the jobs are: Store checks arguments, tells the time, commits calls together,
// and waits.
type Backend interface {
	// Traits tells what the backend can do.
	Traits() Traits

	// Commit begins and does the operations of group in order and as one transaction, and sets the
	// outcome of each. If it returns an error nothing was done, and the outcomes are void; Canceled
	// means that ctx ended before the commit began. It keeps nothing of group, and is called by one
	// goroutine at a time.
	Commit(ctx context.Context, d kv.Durability, group []*Op) error

	// Counts returns the counts of a queue at a time, in milliseconds since 1970. One that does not
	// exist has none.
	Counts(ctx context.Context, queue string, now int64) (Counts, error)

	// List returns at most limit jobs of a queue in a state as Commit last left them: ready ones in
	// the order of claims, delayed ones as they become ready, claimed ones as their leases end,
	// dead ones by id.
	List(ctx context.Context, queue string, state State, limit int) ([]Job, error)

	// Find returns a job as List does, or NoJob.
	Find(ctx context.Context, queue string, id uint64) (Job, error)

	// Queues returns the names of all queues that ever had a job, sorted.
	Queues(ctx context.Context) ([]string, error)

	// Close releases what the backend itself opened. No other call is running.
	Close() error
}

// Traits says as data what a backend can do.
type Traits struct {
	Shared bool // other processes, or other Stores, may change the queues too
	Alike  bool // a group is best of one verb: each further one is another round trip to a server
}

// Verb is what an Op does.
type Verb uint8

// The verbs. Times are in milliseconds since 1970.
const (
	// Publish adds Drafts, gives them increasing IDs, and sets IDs. A key is held until its
	// key_until, and while its job is there and not dead: whose key is held is not published, and
	// has the id 0.
	Publish Verb = iota
	// Claim first deletes the jobs of Receipts, then makes ready what is due, then claims the first
	// Limit ready jobs that are not too old until Until, with a random token each, and sets Jobs.
	// To those before them that are too old it does what Settings say, and sets Done to how many;
	// where they are many it may stop early, with fewer jobs.
	Claim
	// Tick is Publish if the last tick that is stored of Schedule, or 0, is From; it then stores
	// At. It sets Last to what is stored then.
	Tick
	// Ack deletes the jobs of Receipts.
	Ack
	// Nack makes the jobs of Receipts ready at Until, or dead if they are exhausted, or Bury is
	// set. It keeps Cause as a Failure of each, if it is not empty. So does, with the Cause
	// LeaseEnded, what makes jobs ready whose lease has ended.
	Nack
	// Release makes the jobs of Receipts ready at Until, with one attempt less than they have.
	Release
	// Extend makes the claims of Receipts last until Until.
	Extend
	// Requeue makes the dead jobs IDs ready, with no attempts or Failures. Err is NotDead, or
	// KeyTaken where another job has the key; a key that was given up is held again.
	Requeue
	// Delete deletes the jobs IDs, whatever their state. Err is NoJob.
	Delete
	// Purge deletes up to Limit jobs in State, and sets Done to how many.
	Purge
	// Sweep makes ready what is due, then moves or deletes up to Limit jobs that are too old, and
	// sets Done to how many were too old. Of dead jobs it looks at those whose ids are above From,
	// at most MostLooked, and sets Last to where to go on, 0 if it has looked at all.
	Sweep
)

var verbNames = [...]string{"publish", "claim", "tick", "ack", "nack", "release", "extend", "requeue", "delete",
	"purge", "sweep"}

func (v Verb) String() string { return verbNames[v] }

// MostDue is how many jobs a Claim or Sweep makes ready at most before it does the rest.
const MostDue = 1000

// MostLooked is how many dead jobs a Sweep looks at, of which some may be too old.
const MostLooked = 2 * MostDue

// Op is one operation of a group, and its outcome.
type Op struct {
	Verb     Verb
	Queue    string
	Settings *Settings
	After    time.Duration
	Limit    int
	State    State
	Drafts   []Draft   // checked
	Receipts []Receipt // none twice
	IDs      []uint64  // given to Requeue and Delete, none twice; set by Publish
	Cause    string
	Bury     bool

	Schedule       string
	From, At, Last int64

	Clock      func() time.Time
	Now, Until int64 // set by Begin

	Jobs []Job
	Done int
	Err  error // of this operation alone, which then did nothing: a StaleError, NotDead, NoJob, KeyTaken

	// Ready is about how many jobs of the queue can be claimed now: workers that wait are woken for
	// as many. Due is when the next job can become ready by the clock, or earlier; 0 is never. It
	// is above Now after a Claim or Sweep that made ready all that was due.
	Ready int
	Due   int64

	// order grows with the transactions of a Store, where that is known: a line may be told of them
	// in another order. 0 is not known.
	order uint64
}

// Begin makes the outcome empty, and sets Now to the time and Until to After from it. Backends call
// it, for each try, once they have the lock: a lease does not run while its claim waits for another
// process.
func (op *Op) Begin() {
	op.clear()
	op.Now = op.Clock().UnixMilli()
	op.Until = op.Now + op.After.Milliseconds()
}

func (op *Op) clear() {
	if op.Verb == Publish || op.Verb == Tick {
		op.IDs = op.IDs[:0]
	}
	op.Jobs, op.Done, op.Err, op.Ready, op.Due, op.Last = nil, 0, nil, 0, 0, 0
}
