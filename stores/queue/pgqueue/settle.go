package pgqueue

import (
	"cmp"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
)

// inOrder puts jobs in the order of claims: PostgreSQL returns changed rows in none.
func inOrder(jobs []queue.Job) {
	slices.SortFunc(jobs, func(a, b queue.Job) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.ReadyAt().Compare(b.ReadyAt()), cmp.Compare(a.ID, b.ID))
	})
}

// settle does what takes receipts: all, or nothing if one is stale. That is one statement.
func (s *session) settle(op *queue.Op) error {
	var ids, tokens, ends []int64
	for _, r := range op.Receipts {
		ids, tokens, ends = append(ids, int64(r.ID)), append(tokens, int64(r.Token)), append(ends, r.Until)
	}
	text, args := ack, []any{name(op), ids, tokens, ends}
	switch op.Verb {
	case queue.Nack:
		text, args = nack, append(args, intables.DeadAt(op.Settings), op.Now, op.Until, op.Bury)
	case queue.Release:
		text, args = giveBack, append(args, op.Now, op.Until)
	case queue.Extend:
		text, args = extend, append(args, op.Until)
	}
	gone := deleted{}
	if _, err := s.each(gone.scan, text, args...); err != nil {
		return err
	}
	if len(gone.all) < len(ids) {
		var stale []queue.Receipt
		for _, r := range op.Receipts {
			if !slices.Contains(gone.all, place{int64(r.ID), int64(r.Token)}) {
				stale = append(stale, r)
			}
		}
		op.Err = queue.Stale(op.Verb.String(), op.Queue, stale)
		return nil
	}
	switch op.Verb {
	case queue.Ack, queue.Claim:
		return s.forget(op, &gone)
	case queue.Nack, queue.Release:
		if op.Until <= op.Now {
			op.Ready = len(ids)
		}
	}
	s.dues.Of(op.Queue).Add(op.Until)
	if op.Verb == queue.Nack && op.Cause != "" {
		return s.addFailures(op, ids, op.Cause)
	}
	return nil
}

// addFailures keeps why attempts have failed.
func (s *session) addFailures(op *queue.Op, ids []int64, cause string) error {
	if err := s.exec(addFailures, name(op), ids, op.Now, []byte(cause)); err != nil {
		return err
	}
	return s.exec(trimFailures, name(op), ids)
}

// deleted are jobs that were deleted, and what is kept elsewhere of some.
type deleted struct {
	all           []place
	failed, keyed []int64
	keys          [][]byte
}

// place is a claim of a job.
type place struct{ id, token int64 }

func (d *deleted) scan(rows pgx.Rows) error {
	var id, token int64
	var failed bool
	var key []byte
	if err := rows.Scan(&id, &token, &failed, &key); err != nil {
		return err
	}
	d.all = append(d.all, place{id, token})
	if failed {
		d.failed = append(d.failed, id)
	}
	if key != nil {
		d.keyed, d.keys = append(d.keyed, id), append(d.keys, key)
	}
	return nil
}

// forget removes what is kept of jobs that were deleted.
func (s *session) forget(op *queue.Op, d *deleted) error {
	if len(d.failed) > 0 {
		if err := s.exec(forgetFailures, name(op), d.failed); err != nil {
			return err
		}
	}
	if len(d.keyed) > 0 {
		return s.exec(freeKeys, name(op), d.keys, d.keyed)
	}
	return nil
}

// delete runs a statement that deletes jobs, and returns how many.
func (s *session) delete(op *queue.Op, text string, args ...any) (int, error) {
	var d deleted
	if _, err := s.each(d.scan, text, args...); err != nil {
		return 0, err
	}
	return len(d.all), s.forget(op, &d)
}

// forIDs calls fn for each of op.IDs: all, or none if it sets op.Err.
func (s *session) forIDs(op *queue.Op, fn func(*queue.Op, uint64) error) error {
	if err := s.exec("SAVEPOINT op"); err != nil {
		return err
	}
	for _, id := range op.IDs {
		if err := fn(op, id); err != nil {
			return err
		}
		if op.Err != nil {
			op.Ready = 0
			if err := s.exec("ROLLBACK TO op"); err != nil {
				return err
			}
			break
		}
	}
	return s.exec("RELEASE op")
}

func (s *session) deleteID(op *queue.Op, id uint64) error {
	n, err := s.delete(op, deleteID, name(op), int64(id))
	if n == 0 && err == nil {
		op.Err = queue.NoJob(op.Verb.String(), op.Queue, id)
	}
	return err
}

func (s *session) requeue(op *queue.Op, id uint64) error {
	dead := queue.Job{ID: id}
	n, err := s.each(func(rows pgx.Rows) error {
		var special []byte
		if err := rows.Scan(&special); err != nil {
			return err
		}
		return dead.SetSpecial(special)
	}, readDead, name(op), int64(id))
	if err != nil {
		return err
	}
	if n == 0 {
		op.Err = queue.NotDead(op.Queue, id)
		return nil
	}
	if key, until := dead.Key(); key != "" {
		held, err := s.hold(op, key, int64(id), max(0, until.UnixMilli()))
		if err != nil {
			return err
		}
		if !held {
			op.Err = queue.KeyTaken(op.Queue, id, key)
			return nil
		}
	}
	op.Ready++
	if err := s.exec(requeue, name(op), int64(id), op.Now); err != nil {
		return err
	}
	return s.exec(forgetFailures, name(op), []int64{int64(id)})
}

// hold gives a key to a job, unless another has it, and deletes some that nobody has any more.
func (s *session) hold(op *queue.Op, key string, id, until int64) (held bool, err error) {
	if err := s.exec(lockKey, name(op), []byte(key)); err != nil {
		return false, err
	}
	n, err := s.each(nil, holdKey, name(op), []byte(key), id, until, op.Now)
	if n == 0 || err != nil {
		return false, err
	}
	return true, s.exec(sweepKeys, name(op), op.Now)
}

// tick does a Tick.
func (s *session) tick(op *queue.Op) error {
	schedule := []byte(op.Schedule)
	if err := s.exec(makeTick, name(op), schedule); err != nil {
		return err
	}
	_, err := s.each(func(rows pgx.Rows) error { return rows.Scan(&op.Last) }, readTick, name(op), schedule)
	if err != nil || op.Last != op.From {
		return err
	}
	if err := s.exec(tick, name(op), schedule, op.At); err != nil {
		return err
	}
	if op.Last = op.At; len(op.Drafts) == 0 {
		return nil
	}
	return s.publish(op)
}
