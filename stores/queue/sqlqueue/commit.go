package sqlqueue

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
)

// Commit implements queue.Backend. One operation that is one statement needs no more: a statement
// outside a transaction is an immediate one of its own.
func (b *backend) Commit(ctx context.Context, d kv.Durability, group []*queue.Op) error {
	err := errNotHeld
	if len(group) == 1 && b.isOneStatement(group[0]) {
		if err = b.file.SetLevel(d, b.writer.exec); err == nil {
			err = b.file.Committed(b.file.Retry(ctx, func() error { return b.do(group[0]) }))
		}
	}
	if err == errNotHeld { // nothing was done yet
		err = b.transaction(ctx, d, func() error {
			b.inside = true
			defer func() { b.inside = false }()
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
		clear(b.held)
		return b.wrap(group[0].Verb.String(), err)
	}
	for _, op := range group {
		op.Due = b.dues.Of(op.Queue).Next()
	}
	return nil
}

func (b *backend) isOneStatement(op *queue.Op) bool {
	op.Begin()
	switch op.Verb {
	case queue.Publish:
		return len(op.Drafts) == 1 && len(op.Drafts[0].Payload) <= mostInline && op.Drafts[0].Special(op.Now) == nil &&
			b.holds(op)
	case queue.Claim:
		return op.Settings.Retention == 0 && len(op.Receipts) == 0 && !b.dues.Of(op.Queue).MustLook(op.Now)
	case queue.Ack, queue.Nack, queue.Release, queue.Extend:
		return len(op.Receipts) == 1 && op.Cause == ""
	}
	return false
}

// do does one operation, in a transaction or, if isOneStatement says so, alone.
func (b *backend) do(op *queue.Op) error {
	op.Begin()
	return intables.Do(b, op)
}

var _ intables.Tables = (*backend)(nil)

// Due implements intables.Tables.
func (b *backend) Due(queue string) *intables.Due { return b.dues.Of(queue) }

// Publish implements intables.Tables. In a transaction it takes the ids first, if need be.
func (b *backend) Publish(op *queue.Op) error {
	err := b.publishHeld(op)
	if err == errNotHeld && b.inside {
		if err = b.hold(op); err == nil {
			err = b.publishHeld(op)
		}
	}
	return err
}

// publishHeld publishes with ids that are held, or tells that they are not.
func (b *backend) publishHeld(op *queue.Op) error {
	if !b.holds(op) {
		return errNotHeld
	}
	h := b.held[op.Queue]
	due := b.dues.Of(op.Queue)
	for i := range op.Drafts {
		draft := &op.Drafts[i]
		if held, err := b.isHeld(op, draft.Key, -1); err != nil {
			return err
		} else if held {
			// A commit that changes something makes the other job as durable as this one is to be.
			// SQLite: what is written as it was is not written.
			if err := run(b.write.skipID, op.Queue); err != nil {
				return err
			}
			op.IDs = append(op.IDs, 0)
			continue
		}
		state, rank, at := queue.Ready, int64(draft.Priority), op.Now+draft.Delay.Milliseconds()
		if at > op.Now {
			state, rank = queue.Delayed, 0
			due.Add(at)
		} else {
			op.Ready++
		}
		var payload any
		special := draft.Special(op.Now)
		large := len(draft.Payload) > mostInline || special != nil
		if !large {
			payload = draft.Payload
		}
		id := h.next(op.Now)
		n, err := b.write.publish.run(op.Queue, int64(state), rank, at, int64(id), int64(draft.Priority), op.Now,
			payload, b.self)
		if err == nil && n == 0 { // of the first: nobody takes them during a transaction
			op.Ready, op.IDs, err = 0, op.IDs[:0], errNotHeld
		}
		if err == nil && large {
			err = run(b.write.setPayload, op.Queue, int64(id), draft.Payload)
		}
		if err == nil && special != nil {
			err = run(b.write.setSpecial, op.Queue, int64(id), string(special))
		}
		if err == nil && draft.Key != "" {
			err = b.holdKey(op, draft.Key, id, op.Now+draft.KeyFor.Milliseconds())
		}
		if err != nil {
			return err
		}
		op.IDs = append(op.IDs, id)
	}
	return nil
}

// ClaimSome implements intables.Tables. SQLite returns changed rows in no order.
func (b *backend) ClaimSome(op *queue.Op, n int) (jobs []queue.Job, err error) {
	var bad error
	scan := func(r row) {
		id := uint64(r.integer(0))
		job := queue.Job{ID: id, State: queue.Claimed, VisibleAt: queue.Millis(op.Until), Priority: int8(r.integer(2)),
			CreatedAt: queue.Millis(r.integer(4)), Attempts: int(r.integer(5)),
			Payload: r.blob(7), Receipt: queue.Receipt{ID: id, Until: r.integer(3), Token: uint64(r.integer(1))}}
		job.SetReadyAt(r.integer(3))
		bad = errors.Join(bad, job.SetSpecial(r.blob(6)))
		jobs = append(jobs, job)
	}
	if n == 1 {
		err = b.write.claimOne.each(scan, op.Queue, op.Until)
	} else {
		err = b.write.claim.each(scan, op.Queue, op.Until, n)
	}
	if err = errors.Join(err, bad); err != nil {
		return nil, err
	}
	slices.SortFunc(jobs, func(a, b queue.Job) int { // Until is visible_at here
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Receipt.Until, b.Receipt.Until),
			cmp.Compare(a.ID, b.ID))
	})
	for i := range jobs {
		jobs[i].Receipt.Until = op.Until
	}
	return jobs, nil
}

// Settle implements intables.Tables.
func (b *backend) Settle(op *queue.Op) error {
	several := len(op.Receipts) > 1
	if several {
		if err := b.Savepoint(intables.Save); err != nil {
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
			if err := b.Savepoint(intables.Undo); err != nil {
				return err
			}
		}
	} else if (op.Verb == queue.Nack || op.Verb == queue.Release) && op.Until <= op.Now {
		op.Ready = len(op.Receipts)
	}
	if several {
		return b.Savepoint(intables.Release)
	}
	return nil
}

func (b *backend) settleOne(op *queue.Op, r queue.Receipt) (int, error) {
	args := [8]any{op.Queue, int64(r.ID), int64(r.Token), r.Until}
	used := args[:4]
	switch op.Verb {
	case queue.Nack:
		if op.Cause != "" {
			if n, err := b.write.addFailure.run(append(used, op.Now, op.Cause)); n == 0 || err != nil {
				return n, err
			}
		}
		b.dues.Of(op.Queue).Add(op.Until)
		bury := int64(0)
		if op.Bury {
			bury = 1
		}
		return b.write.nack.run(append(used, op.Now, op.Until, intables.DeadAt(op.Settings), bury))
	case queue.Release:
		b.dues.Of(op.Queue).Add(op.Until)
		return b.write.giveBack.run(append(used, op.Now, op.Until))
	case queue.Extend:
		b.dues.Of(op.Queue).Add(op.Until)
		return b.write.extend.run(append(used, op.Until))
	}
	return b.write.ack.run(used)
}

// run runs the statement on a claim, or else on one that was extended, and returns how many rows it
// changed.
func (s *settling) run(args []any) (int, error) {
	n, err := s.claimed.run(args...)
	if n == 0 && err == nil {
		n, err = s.extended.run(args...)
	}
	return n, err
}
