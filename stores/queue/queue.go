package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
)

// Queue is one queue of a store. It needs no closing.
type Queue struct {
	store    *Store
	name     string
	settings Settings
	line     *line
}

// MaxBatch is the most jobs that one call publishes, claims or acknowledges.
const MaxBatch = 10_000

// Name returns the queue's name.
func (q *Queue) Name() string { return q.name }

// Publish adds jobs as one transaction with at least the durability d, and returns their ids, in
// the order given; the id of one whose [Draft.Key] another job has is 0. It keeps nothing of what
// it is given.
func (q *Queue) Publish(ctx context.Context, d kv.Durability, drafts ...Draft) ([]uint64, error) {
	if err := checkDrafts(drafts); err != nil {
		return nil, err
	}
	if len(drafts) == 0 {
		return nil, nil
	}
	r := q.request(Publish)
	defer r.release()
	r.Drafts = append(r.Drafts[:0], drafts...)
	for i := range drafts {
		r.size += len(drafts[i].Payload)
	}
	if err := q.store.do(ctx, d, r); err != nil {
		return nil, err
	}
	return slices.Clone(r.IDs), nil
}

func checkDrafts(drafts []Draft) error {
	if err := checkBatch(Publish, len(drafts)); err != nil {
		return err
	}
	for i := range drafts {
		if err := drafts[i].check(i); err != nil {
			return err
		}
	}
	return nil
}

func checkBatch(verb Verb, n int) error {
	if n > MaxBatch {
		return &kv.Error{Op: verb.String(), Kind: kv.TooLarge,
			Err:  fmt.Errorf("%d jobs in one call, at most %d", n, MaxBatch),
			Hint: "use several calls"}
	}
	return nil
}

// Claim claims the first ready jobs, at most limit, for the queue's lease, and returns them in
// order. Where none is ready it returns none at once: see Next.
func (q *Queue) Claim(ctx context.Context, d kv.Durability, limit int) ([]Job, error) {
	return q.Swap(ctx, d, limit)
}

// Swap is Ack and Claim in one transaction: it acknowledges the jobs of done, then claims up to
// limit, which may be none. That is what a worker does between two jobs, for the price of one
// commit. If a receipt is stale, that is a [*StaleError], and no job is acknowledged or claimed.
func (q *Queue) Swap(ctx context.Context, d kv.Durability, limit int, done ...Receipt) ([]Job, error) {
	if limit < 1 {
		return nil, badLimit(limit)
	}
	if err := errors.Join(checkBatch(Claim, limit), checkReceipts(Claim, done)); err != nil {
		return nil, err
	}
	if err := q.sweepNowAndThen(ctx, d); err != nil {
		return nil, err
	}
	jobs, more, err := q.claim(ctx, d, limit, done)
	for err == nil && len(jobs) == 0 && more {
		if jobs, more, err = q.claim(ctx, d, limit, nil); errors.Is(err, kv.Canceled) && len(done) > 0 {
			return nil, nil // the acknowledgement is committed
		}
	}
	return jobs, err
}

// claim claims once, and reports whether there may be jobs though it returns none.
func (q *Queue) claim(ctx context.Context, d kv.Durability, limit int, done []Receipt) (jobs []Job, more bool,
	err error) {
	r := q.request(Claim)
	defer r.release()
	r.Limit, r.After = limit, q.settings.Lease
	r.setReceipts(done)
	if err := q.store.do(ctx, d, r); err != nil {
		return nil, false, err
	}
	return r.Jobs, r.Done > 0 || r.stillDue(), nil
}

// stillDue reports whether a Claim or Sweep left something to make ready.
func (op *Op) stillDue() bool { return op.Due != 0 && op.Due <= op.Now }

// Ack deletes jobs that are done. If a receipt is stale, that is a [*StaleError] and no job is
// deleted.
//
// A lease that has ended, but whose job was not made ready again since, does not make a receipt
// stale.
func (q *Queue) Ack(ctx context.Context, d kv.Durability, receipts ...Receipt) error {
	return q.settle(ctx, d, ending{verb: Ack}, receipts)
}

// Nack gives jobs back that could not be done. They become ready after delay, behind those that are
// ready by then; those that were tried as often as [Settings.MaxAttempts], or their Draft, says are
// dead. Of stale receipts see Ack.
func (q *Queue) Nack(ctx context.Context, d kv.Durability, delay time.Duration, receipts ...Receipt) error {
	return q.settle(ctx, d, ending{verb: Nack, after: delay}, receipts)
}

// Fail is Nack that keeps cause with the jobs: see [Job.Failures]. Where cause is, or wraps, what
// [Never] returned, the jobs are dead whatever their attempts.
func (q *Queue) Fail(ctx context.Context, d kv.Durability, cause error, delay time.Duration,
	receipts ...Receipt) error {
	end, err := failed(cause, delay)
	if err != nil {
		return err
	}
	return q.settle(ctx, d, end, receipts)
}

// ending is what is done with receipts: the fields of Op of those names.
type ending struct {
	verb  Verb
	after time.Duration
	cause string
	bury  bool
}

func failed(cause error, delay time.Duration) (ending, error) {
	if cause == nil {
		return ending{}, invalid(Nack.String(), errors.New("no cause"),
			"give the error that the job failed with, or use Nack or Ack")
	}
	return ending{verb: Nack, after: delay, cause: errorText(cause), bury: isNever(cause)}, nil
}

// Release gives jobs back that nobody has begun, or could not finish for no fault of theirs:
// because the program ends, say. They become ready at once, behind those that are, and the attempt
// does not count. Of stale receipts see Ack.
func (q *Queue) Release(ctx context.Context, d kv.Durability, receipts ...Receipt) error {
	return q.settle(ctx, d, ending{verb: Release}, receipts)
}

// Snooze gives jobs back whose time has not come: they become ready after delay, and the attempt
// does not count. Of stale receipts see Ack.
func (q *Queue) Snooze(ctx context.Context, d kv.Durability, delay time.Duration, receipts ...Receipt) error {
	return q.settle(ctx, d, ending{verb: Release, after: delay}, receipts)
}

// Extend makes the leases of jobs end after lease from now, sooner or later than they would. 0 is
// the queue's lease. Of stale receipts see Ack.
func (q *Queue) Extend(ctx context.Context, d kv.Durability, lease time.Duration, receipts ...Receipt) error {
	if lease == 0 {
		lease = q.settings.Lease
	}
	return q.settle(ctx, d, ending{verb: Extend, after: lease}, receipts)
}

// settle does what takes receipts.
func (q *Queue) settle(ctx context.Context, d kv.Durability, end ending, receipts []Receipt) error {
	if err := checkSettle(end.verb, end.after, receipts); err != nil || len(receipts) == 0 {
		return err
	}
	r := q.request(end.verb)
	defer r.release()
	r.setReceipts(receipts)
	r.After, r.Cause, r.Bury = end.after, end.cause, end.bury
	return q.store.do(ctx, d, r)
}

func badLimit(limit int) error {
	return invalid("claim", fmt.Errorf("limit %d", limit), "give the number of jobs to claim at most")
}

func checkSettle(verb Verb, after time.Duration, receipts []Receipt) error {
	if after < 0 || after > maxDelay {
		return invalid(verb.String(), fmt.Errorf("duration %v", after), "give 0 to 100 years")
	}
	return checkReceipts(verb, receipts)
}

func checkReceipts(verb Verb, receipts []Receipt) error {
	if slices.Contains(receipts, Receipt{}) {
		return invalid(verb.String(), errNoReceipt, "give the Receipt of a job that Claim or Next returned")
	}
	return checkBatch(verb, len(receipts))
}

// setReceipts sets Receipts to each of receipts once.
func (r *request) setReceipts(receipts []Receipt) { r.Receipts = once(r.Receipts[:0], receipts) }

// once appends each of receipts once.
func once(dst, receipts []Receipt) []Receipt {
	dst = append(dst, receipts...)
	if len(dst) > 1 {
		slices.SortFunc(dst, func(a, b Receipt) int {
			return cmp.Or(cmp.Compare(a.ID, b.ID),
				cmp.Compare(a.Token, b.Token))
		})
		dst = slices.CompactFunc(dst, func(a, b Receipt) bool { return a.ID == b.ID && a.Token == b.Token })
	}
	return dst
}

// Requeue makes dead jobs ready, behind those that are, as if they had never been tried: their
// failures are forgotten. Where one is not dead that is NotFound, where another job has the key of
// one that is Conflict, and none is requeued. Their age still counts from when they were published.
func (q *Queue) Requeue(ctx context.Context, d kv.Durability, ids ...uint64) error {
	return q.byID(ctx, d, Requeue, ids)
}

// Delete deletes jobs, whatever their state. Where one is not there that is NotFound, and none is
// deleted. The receipt of one that is claimed is stale: a worker in [Queue.Work] has its context
// ended by the next heartbeat. It looks at all jobs of the queue for one that is not dead.
func (q *Queue) Delete(ctx context.Context, d kv.Durability, ids ...uint64) error {
	return q.byID(ctx, d, Delete, ids)
}

func (q *Queue) byID(ctx context.Context, d kv.Durability, verb Verb, ids []uint64) error {
	if err := checkBatch(verb, len(ids)); err != nil || len(ids) == 0 {
		return err
	}
	r := q.request(verb)
	defer r.release()
	r.IDs = append(r.IDs[:0], ids...)
	slices.Sort(r.IDs)
	r.IDs = slices.Compact(r.IDs)
	return q.store.do(ctx, d, r)
}

// chunk is how many jobs a transaction of Purge or Sweep deletes or moves at most.
const chunk = 1000

// Purge deletes the jobs that are in one of states, or all if none is given, and returns how many.
// Receipts of jobs that it deletes are stale. It works in several transactions: after an error some
// may be deleted, as the number tells. Jobs that are published meanwhile may be deleted or not.
func (q *Queue) Purge(ctx context.Context, d kv.Durability, states ...State) (int, error) {
	if len(states) == 0 {
		states = States
	}
	total := 0
	for _, state := range states {
		if int(state) >= len(States) {
			return total, invalid("purge", fmt.Errorf("unknown state %v", state), "")
		}
		n, err := q.chunks(ctx, d, Purge, state)
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

// Sweep makes ready what is due, and does to jobs older than [Settings.Retention], and to dead ones
// older than [Settings.DeadRetention], what the settings say; it returns to how many. Claims never
// give out a job that is too old; what Sweep does is to free its space. Retention looks at jobs
// that have been ready for as long as it says; one that is as old but was given back since is dealt
// with when its turn to be claimed comes. It works in several transactions.
//
// Programs that set a retention call Sweep now and then. Where nobody does, a Claim or Next that
// comes a tenth of the retention, and at least a second, after the last does one transaction of it.
func (q *Queue) Sweep(ctx context.Context, d kv.Durability) (int, error) {
	return q.chunks(ctx, d, Sweep, 0)
}

func (q *Queue) chunks(ctx context.Context, d kv.Durability, verb Verb, state State) (total int, err error) {
	from := int64(0)
	for {
		n, last, more, err := q.chunk(ctx, d, verb, state, from)
		if total += n; err != nil || !more {
			return total, err
		}
		from = last
	}
}

// chunk is one transaction, of a sweep one that goes on where another one was.
func (q *Queue) chunk(ctx context.Context, d kv.Durability, verb Verb, state State, from int64) (
	n int, last int64, more bool, err error) {
	r := q.request(verb)
	defer r.release()
	r.State, r.Limit, r.size = state, chunk, groupBytes // in a group of its own
	r.From = from
	err = q.store.do(ctx, d, r)
	return r.Done, r.Last, r.Done > 0 || verb == Sweep && (r.Last != 0 || r.stillDue()), err
}

// sweepNowAndThen does one transaction of a sweep if a retention is set and the last was long ago.
func (q *Queue) sweepNowAndThen(ctx context.Context, d kv.Durability) error {
	shortest := min(cmp.Or(q.settings.Retention, maxDelay), cmp.Or(q.settings.DeadRetention, maxDelay))
	if shortest == maxDelay {
		return nil
	}
	now := q.store.now()
	last := q.line.swept.Load()
	if now-last < max(time.Second, shortest/10).Milliseconds() || !q.line.swept.CompareAndSwap(last, now) {
		return nil
	}
	_, goOn, _, err := q.chunk(ctx, d, Sweep, 0, q.line.sweptTo.Load())
	if err == nil {
		q.line.sweptTo.Store(goOn)
	}
	return err
}

// Counts returns how many jobs the queue has in each state now. Over kv it reads counters, and
// looks only at jobs whose delay or lease ended since the last claim; in SQL it counts.
func (q *Queue) Counts(ctx context.Context) (c Counts, err error) {
	err = q.store.read("counts", func() error {
		c, err = q.store.backend.Counts(ctx, q.name, q.store.now())
		return err
	})
	return c, err
}

// List returns at most limit jobs in a state: ready ones in the order in which they will be
// claimed, delayed ones as they become ready, claimed ones as their leases end, dead ones by id.
// What is due is shown as it was until a Claim, Next or Sweep.
func (q *Queue) List(ctx context.Context, state State, limit int) (jobs []Job, err error) {
	if int(state) >= len(States) || limit < 1 {
		return nil, invalid("list", fmt.Errorf("state %v, limit %d", state, limit),
			"give a state, and the number of jobs to list at most")
	}
	err = q.store.read("list", func() error {
		jobs, err = q.store.backend.List(ctx, q.name, state, limit)
		return err
	})
	return jobs, err
}

// Find returns a job, whatever its state. Where there is none of this id that is NotFound. It looks
// at all jobs of the queue for one that is not dead.
func (q *Queue) Find(ctx context.Context, id uint64) (job Job, err error) {
	err = q.store.read("find", func() error {
		job, err = q.store.backend.Find(ctx, q.name, id)
		return err
	})
	return job, err
}
