package queue

import (
	"errors"
	"time"

	"github.com/assaydb/assay/kv"
)

// Tx is a queue within a transaction of the program's own: jobs and the data that they are about are committed together,
// or not at all. Its methods are those of [Queue], and have their effect when the transaction is committed, which is also
// when workers that wait are woken. After an error other than a [*StaleError] the transaction commits nothing.
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
type Tx struct {
	queue   *Queue
	tx      *kv.Tx
	backend *kvBackend
}

// In returns the queue within tx, a transaction of the store that [New] was given, whatever its namespace. Queues in SQL
// tables are Unsupported.
func (q *Queue) In(tx *kv.Tx) (*Tx, error) {
	b, ok := q.store.backend.(*kvBackend)
	if !ok {
		return nil, &kv.Error{Op: "join", Kind: kv.Unsupported, Err: errors.New("the queue is not kept in a key-value store"),
			Hint: "keep it in one, beside the data: queue.New(db, nil)"}
	}
	joined, err := b.db.Join(tx)
	if err != nil {
		return nil, err
	}
	return &Tx{queue: q, tx: joined, backend: newKVBackend(b.db)}, nil
}

// Publish adds jobs. They can be claimed once the transaction is committed, and in it.
func (t *Tx) Publish(drafts ...Draft) ([]uint64, error) {
	if err := checkDrafts(drafts); err != nil || len(drafts) == 0 {
		return nil, err
	}
	op := t.op(Publish)
	op.Drafts = drafts
	err := t.do(op)
	return op.IDs, err
}

// Claim claims the first ready jobs, at most limit. The lease runs from now on. Where none is ready it returns none.
func (t *Tx) Claim(limit int) ([]Job, error) {
	if limit < 1 {
		return nil, badLimit(limit)
	}
	if err := checkBatch(Claim, limit); err != nil {
		return nil, err
	}
	op := t.op(Claim)
	op.Limit, op.After = limit, t.queue.settings.Lease
	err := t.do(op)
	return op.Jobs, err
}

// Ack deletes jobs that are done: what they did, written in the same transaction, is done exactly once. If a receipt is
// stale, that is a [*StaleError] and no job is deleted; a function that returns it leaves its work undone, too.
func (t *Tx) Ack(receipts ...Receipt) error { return t.settle(Ack, 0, receipts) }

// Nack gives jobs back, to become ready after delay: see [Queue.Nack].
func (t *Tx) Nack(delay time.Duration, receipts ...Receipt) error {
	return t.settle(Nack, delay, receipts)
}

// Release gives jobs back without counting the attempt: see [Queue.Release].
func (t *Tx) Release(receipts ...Receipt) error { return t.settle(Release, 0, receipts) }

// Extend makes the leases of jobs end after lease from now; 0 is the queue's lease. See [Queue.Extend].
func (t *Tx) Extend(lease time.Duration, receipts ...Receipt) error {
	if lease == 0 {
		lease = t.queue.settings.Lease
	}
	return t.settle(Extend, lease, receipts)
}

func (t *Tx) settle(verb Verb, after time.Duration, receipts []Receipt) error {
	if err := checkSettle(verb, after, receipts); err != nil || len(receipts) == 0 {
		return err
	}
	op := t.op(verb)
	op.After, op.Receipts = after, once(nil, receipts)
	return t.do(op)
}

func (t *Tx) op(verb Verb) *Op {
	q := t.queue
	return &Op{Verb: verb, Queue: q.name, Settings: &q.settings, Clock: q.store.options.Clock}
}

// do does op in the transaction.
func (t *Tx) do(op *Op) error {
	return t.queue.store.read(op.Verb.String(), func() error {
		t.backend.group = append(t.backend.group[:0], op)
		if err := t.backend.ended(t.backend.turn(t.tx)); err != nil {
			t.tx.Fail(err) // a part of it may be written
			return err
		}
		if op.Err == nil {
			t.tx.OnCommit(func() { t.queue.line.settle(op) })
		}
		return op.Err
	})
}
