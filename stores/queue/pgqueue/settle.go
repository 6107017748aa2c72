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

// Settle implements intables.Tables, by one statement.
func (s *session) Settle(op *queue.Op) error {
	ids, tokens, ends := columns(op.Receipts)
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

// Savepoint implements intables.Tables.
func (s *session) Savepoint(p intables.Savepoint) error {
	return s.exec([...]string{"SAVEPOINT op", "ROLLBACK TO op", "RELEASE op"}[p])
}

// ReadDead implements intables.Tables.
func (s *session) ReadDead(op *queue.Op, id uint64) (special []byte, found bool, err error) {
	n, err := s.each(func(rows pgx.Rows) error { return rows.Scan(&special) }, readDead, name(op), int64(id))
	return special, n > 0, err
}

// Requeue implements intables.Tables.
func (s *session) Requeue(op *queue.Op, id uint64) error {
	if err := s.exec(requeue, name(op), int64(id), op.Now); err != nil {
		return err
	}
	return s.exec(forgetFailures, name(op), []int64{int64(id)})
}

// Hold implements intables.Tables. It deletes some keys that nobody has any more.
func (s *session) Hold(op *queue.Op, key string, id uint64, until int64) (bool, error) {
	if err := s.exec(lockKey, name(op), []byte(key)); err != nil {
		return false, err
	}
	n, err := s.each(nil, holdKey, name(op), []byte(key), int64(id), until, op.Now)
	if n == 0 || err != nil {
		return false, err
	}
	return true, s.exec(sweepKeys, name(op), op.Now)
}

// ReadTick implements intables.Tables.
func (s *session) ReadTick(op *queue.Op) (last int64, err error) {
	schedule := []byte(op.Schedule)
	if err := s.exec(makeTick, name(op), schedule); err != nil {
		return 0, err
	}
	_, err = s.each(func(rows pgx.Rows) error { return rows.Scan(&last) }, readTick, name(op), schedule)
	return last, err
}

// SetTick implements intables.Tables.
func (s *session) SetTick(op *queue.Op) error {
	return s.exec(tick, name(op), []byte(op.Schedule), op.At)
}
