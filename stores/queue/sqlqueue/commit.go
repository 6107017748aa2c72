package sqlqueue

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// Commit implements queue.Backend. One operation that is one statement needs no more: a statement outside a transaction
// is an immediate one of its own.
func (b *backend) Commit(ctx context.Context, d kv.Durability, group []*queue.Op) error {
	var err error
	if len(group) == 1 && b.isOneStatement(group[0]) {
		if err = b.setLevel(d); err == nil {
			err = b.retry(ctx, func() error { return b.do(group[0]) })
		}
	} else {
		err = b.transaction(ctx, d, func() error {
			for _, op := range group {
				if err := b.do(op); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		clear(b.dues)
		return b.wrap(group[0].Verb.String(), err)
	}
	for _, op := range group {
		op.Due = b.dueOf(op.Queue).next()
	}
	return nil
}

func (b *backend) isOneStatement(op *queue.Op) bool {
	switch op.Verb {
	case queue.Publish:
		return len(op.Drafts) == 1
	case queue.Claim:
		op.Begin()
		return op.Settings.Retention == 0 && !b.dueOf(op.Queue).mustLook(op.Now)
	case queue.Ack, queue.Nack, queue.Extend:
		return len(op.Receipts) == 1
	}
	return false
}

// do does one operation, in a transaction or, if isOneStatement says so, alone.
func (b *backend) do(op *queue.Op) error {
	op.Begin()
	switch op.Verb {
	case queue.Publish:
		return b.publish(op)
	case queue.Claim:
		return b.claim(op)
	case queue.Ack, queue.Nack, queue.Extend:
		return b.settle(op)
	case queue.Requeue:
		return b.requeue(op)
	case queue.Purge:
		n, err := change(b.write.purge[op.State], op.Queue, op.Limit)
		op.Done = n
		return err
	default:
		return b.sweep(op)
	}
}

func (b *backend) publish(op *queue.Op) error {
	due := b.dueOf(op.Queue)
	var id int64
	scan := func(rows *sql.Rows) error { return rows.Scan(&id) }
	for i := range op.Drafts {
		draft := &op.Drafts[i]
		state, at, until := queue.Ready, op.Now+draft.Delay.Milliseconds(), sql.NullInt64{}
		if at > op.Now {
			state, until = queue.Delayed, sql.NullInt64{Int64: at, Valid: true}
			due.add(at)
		} else {
			op.Ready++
		}
		payload := draft.Payload
		if payload == nil {
			payload = []byte{}
		}
		err := each(b.write.publish, scan, op.Queue, int64(queue.NextID(0, op.Now)), int64(state), int64(draft.Priority), at, until, op.Now, payload)
		if err != nil {
			return err
		}
		op.IDs = append(op.IDs, uint64(id))
	}
	return nil
}

// claim claims jobs, and puts aside those that turn out to be too old.
func (b *backend) claim(op *queue.Op) error {
	moved, err := b.makeReady(op)
	if err != nil {
		return err
	}
	due := b.dueOf(op.Queue)
	for want := op.Limit; want > 0; want = op.Limit - len(op.Jobs) {
		jobs, err := b.claimOnce(op, want)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			if !op.Settings.TooOld(job.CreatedAt.UnixMilli(), op.Now) {
				op.Jobs = append(op.Jobs, job)
			} else if err := b.outdate(op, job.ID, job.Attempts-1); err != nil {
				return err
			}
		}
		if len(jobs) < want {
			break
		}
	}
	if len(op.Jobs) > 0 {
		due.add(op.Until)
	}
	if len(op.Jobs) == op.Limit {
		op.Ready = max(1, moved)
	}
	return nil
}

// claimOnce claims up to n jobs. SQLite returns changed rows in no order.
func (b *backend) claimOnce(op *queue.Op, n int) (jobs []queue.Job, err error) {
	err = each(b.write.claim, func(rows *sql.Rows) error {
		var id, token, at, created int64
		job := queue.Job{State: queue.Claimed, VisibleAt: queue.Millis(op.Until)}
		if err := rows.Scan(&id, &token, &job.Priority, &at, &created, &job.Attempts, &job.Payload); err != nil {
			return err
		}
		if len(job.Payload) == 0 {
			job.Payload = nil
		}
		job.ID, job.CreatedAt = uint64(id), queue.Millis(created)
		job.Receipt = queue.Receipt{ID: job.ID, Until: at, Token: uint64(token)}
		jobs = append(jobs, job)
		return nil
	}, op.Queue, op.Until, n)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(jobs, func(a, b queue.Job) int { // Until is visible_at here
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Receipt.Until, b.Receipt.Until), cmp.Compare(a.ID, b.ID))
	})
	for i := range jobs {
		jobs[i].Receipt.Until = op.Until
	}
	return jobs, nil
}

// outdate does what the settings say to a job that is too old.
func (b *backend) outdate(op *queue.Op, id uint64, attempts int) error {
	op.Done++
	if op.Settings.Outdated == queue.Drop {
		return run(b.write.drop, op.Queue, int64(id))
	}
	return run(b.write.bury, op.Queue, int64(id), op.Now, attempts)
}

// settle does what takes receipts: all, or nothing if one is stale.
func (b *backend) settle(op *queue.Op) error {
	several := len(op.Receipts) > 1
	if several {
		if err := run(b.write.savepoint); err != nil {
			return err
		}
	}
	var stale []queue.Receipt
	for _, r := range op.Receipts {
		n, err := b.settleOne(op, r)
		if err != nil {
			return err
		}
		if n == 0 {
			stale = append(stale, r)
		}
	}
	if len(stale) > 0 {
		op.Err = queue.Stale(op.Verb.String(), op.Queue, stale)
		if several {
			if err := run(b.write.undo); err != nil {
				return err
			}
		}
	} else if op.Verb == queue.Nack && op.Until <= op.Now {
		op.Ready = len(op.Receipts)
	}
	if several {
		return run(b.write.release)
	}
	return nil
}

func (b *backend) settleOne(op *queue.Op, r queue.Receipt) (int, error) {
	id, token := int64(r.ID), int64(r.Token)
	switch op.Verb {
	case queue.Ack:
		return change(b.write.ack, op.Queue, id, token)
	case queue.Extend:
		b.dueOf(op.Queue).add(op.Until)
		return change(b.write.extend, op.Queue, id, token, op.Until)
	}
	b.dueOf(op.Queue).add(op.Until)
	return change(b.write.nack, op.Queue, id, token, op.Now, op.Until, deadAt(op.Settings))
}

// deadAt returns at how many attempts a job is dead.
func deadAt(s *queue.Settings) int64 {
	if s.MaxAttempts == queue.NoLimit {
		return math.MaxInt64
	}
	return int64(s.MaxAttempts)
}

func (b *backend) requeue(op *queue.Op) error {
	if err := run(b.write.savepoint); err != nil {
		return err
	}
	for _, id := range op.IDs {
		n, err := change(b.write.requeue, op.Queue, int64(id), op.Now)
		if err != nil {
			return err
		}
		if n == 0 {
			op.Err = queue.NotDead(op.Queue, id)
			if err := run(b.write.undo); err != nil {
				return err
			}
			return run(b.write.release)
		}
	}
	op.Ready = len(op.IDs)
	return run(b.write.release)
}
