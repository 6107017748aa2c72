package queue

import (
	"cmp"
	"errors"
	"time"

	"github.com/assaydb/assay/kv"
)

// Tx is a queue within a transaction of the program's own: jobs and the data that they are about
// are committed together, or not at all. Its methods are those of [Queue], and have their effect
// when the transaction is committed, which is also when workers that wait are woken. After an error
// other than a [*StaleError] the transaction commits nothing.
//
//	err := db.Update(ctx, kv.Synced, func(tx *kv.Tx) error {
//		if err := tx.Put(orderKey, order); err != nil {
//			return err
//		}
//		jobs, err := mail.In(tx)
//		if err != nil {
//			return err
//		}
//		_, err = jobs.Publish(queue.Draft{Payload: orderKey})
//		return err
//	})
//
// A transaction with jobs pays for its own commit: it shares none with other calls of the queue.
// sqlqueue.In returns one within a transaction of database/sql.
type Tx struct {
	queue *Queue
	in    Joined
}

// Joined is queues within a transaction of the program's. It is used by one goroutine.
type Joined interface {
	// Do does op, as Commit of a Backend does. After an error a part of it may be done.
	Do(op *Op) error

	// OnCommit has fn called once the transaction is committed. Where that cannot be known fn is
	// not called.
	OnCommit(fn func())

	// Fail has the transaction end with err, where that can be done.
	Fail(err error)
}

// Join returns q within a transaction that its backend has joined. Programs call In.
func (q *Queue) Join(j Joined) *Tx { return &Tx{q, j} }

// Backend returns what the store of q is kept in. It is for backends.
func (q *Queue) Backend() Backend { return q.store.backend }

// In returns the queue within tx, a transaction of the store that [New] was given, whatever its
// namespace. Queues in SQL tables are Unsupported.
func (q *Queue) In(tx *kv.Tx) (*Tx, error) {
	b, ok := q.store.backend.(*kvBackend)
	if !ok {
		return nil, &kv.Error{Op: "join", Kind: kv.Unsupported,
			Err:  errors.New("the queue is not kept in a key-value store"),
			Hint: "keep it in one, beside the data: queue.New(db, nil); or join an SQL transaction: sqlqueue.In(tx, q)"}
	}
	joined, err := b.db.Join(tx)
	if err != nil {
		return nil, err
	}
	own := newKVBackend(b.db)
	own.turns = b.turns
	return q.Join(&kvJoined{own, joined}), nil
}

// kvJoined is queues within a transaction of their store.
type kvJoined struct {
	backend *kvBackend
	*kv.Tx
}

// Do implements Joined.
func (j *kvJoined) Do(op *Op) error {
	j.backend.group = append(j.backend.group[:0], op)
	return j.backend.ended(j.backend.turn(j.Tx))
}

// Publish adds jobs. They can be claimed once the transaction is committed, and in it.
func (t *Tx) Publish(drafts ...Draft) ([]uint64, error) {
	if err := checkDrafts(drafts); err != nil || len(drafts) == 0 {
		return nil, t.failed(err)
	}
	op := Op{Verb: Publish, Drafts: drafts}
	err := t.do(&op)
	return op.IDs, err
}

// Claim claims the first ready jobs, at most limit. The lease runs from now on. Where none is ready
// it returns none.
func (t *Tx) Claim(limit int) ([]Job, error) {
	if limit < 1 {
		return nil, t.failed(badLimit(limit))
	}
	if err := checkBatch(Claim, limit); err != nil {
		return nil, t.failed(err)
	}
	op := Op{Verb: Claim, Limit: limit, After: t.queue.settings.Lease}
	err := t.do(&op)
	return op.Jobs, err
}

// Ack deletes jobs that are done: what they did, written in the same transaction, is done exactly
// once. If a receipt is stale, that is a [*StaleError] and no job is deleted; a function that
// returns it leaves its work undone, too.
func (t *Tx) Ack(receipts ...Receipt) error { return t.settle(ending{verb: Ack}, receipts) }

// Nack gives jobs back, to become ready after delay: see [Queue.Nack].
func (t *Tx) Nack(delay time.Duration, receipts ...Receipt) error {
	return t.settle(ending{verb: Nack, after: delay}, receipts)
}

// Fail gives jobs back and keeps why: see [Queue.Fail].
func (t *Tx) Fail(cause error, delay time.Duration, receipts ...Receipt) error {
	end, err := failed(cause, delay)
	if err != nil {
		return t.failed(err)
	}
	return t.settle(end, receipts)
}

// Release gives jobs back without counting the attempt: see [Queue.Release].
func (t *Tx) Release(receipts ...Receipt) error { return t.settle(ending{verb: Release}, receipts) }

// Snooze gives jobs back until later without counting the attempt: see [Queue.Snooze].
func (t *Tx) Snooze(delay time.Duration, receipts ...Receipt) error {
	return t.settle(ending{verb: Release, after: delay}, receipts)
}

// Extend makes the leases of jobs end after lease from now; 0 is the queue's lease. See
// [Queue.Extend].
func (t *Tx) Extend(lease time.Duration, receipts ...Receipt) error {
	if lease == 0 {
		lease = t.queue.settings.Lease
	}
	return t.settle(ending{verb: Extend, after: lease}, receipts)
}

func (t *Tx) settle(end ending, receipts []Receipt) error {
	if err := checkSettle(end.verb, end.after, receipts); err != nil || len(receipts) == 0 {
		return t.failed(err)
	}
	return t.do(&Op{Verb: end.verb, After: end.after, Cause: end.cause, Bury: end.bury, Receipts: once(nil, receipts)})
}

// do does op in the transaction.
func (t *Tx) do(op *Op) error {
	q := t.queue
	op.Queue, op.Settings, op.Clock = q.name, &q.settings, q.store.options.Clock
	err := t.failed(q.store.read(op.Verb.String(), func() error {
		err := t.in.Do(op)
		if err == nil && op.Err == nil {
			t.in.OnCommit(func() { q.store.settled(q.line, op) })
		}
		return err
	}))
	return cmp.Or(err, op.Err)
}

// failed has the transaction end with err, if it is one: a part of the call may be written, or, of
// one that was refused, the data would be there without its job.
func (t *Tx) failed(err error) error {
	if err != nil {
		t.in.Fail(err)
	}
	return err
}
