package pgqueue

import (
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
)

// makeReady makes ready the jobs whose delay or lease has ended, or dead, and returns how many.
func (s *session) makeReady(op *queue.Op) (moved int, err error) {
	d := s.dues.Of(op.Queue)
	if !d.MustLook(op.Now) {
		return 0, nil
	}
	delayed, claimed, err := s.nextDue(op)
	if err != nil {
		return 0, err
	}
	for state, at := range map[queue.State]int64{queue.Claimed: claimed, queue.Delayed: delayed} {
		if at > op.Now {
			continue
		}
		n, err := s.makeReadyFrom(op, state)
		if moved += n; err != nil {
			return moved, err
		}
	}
	if moved > 0 {
		if delayed, claimed, err = s.nextDue(op); err != nil {
			return moved, err
		}
	}
	d.At, d.Looked = min(delayed, claimed), op.Now
	return moved, nil
}

func (s *session) nextDue(op *queue.Op) (delayed, claimed int64, err error) {
	delayed, claimed = math.MaxInt64, math.MaxInt64
	_, err = s.each(func(rows pgx.Rows) error {
		var first, second *int64
		err := rows.Scan(&first, &second)
		if first != nil {
			delayed = *first
		}
		if second != nil {
			claimed = *second
		}
		return err
	}, nextDue, name(op))
	return delayed, claimed, err
}

// makeReadyFrom is makeReady of the jobs in a state. Those that another process has in hand it
// leaves alone.
func (s *session) makeReadyFrom(op *queue.Op, state queue.State) (moved int, err error) {
	var ids []int64
	_, err = s.each(func(rows pgx.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, lockDue, name(op), op.Now, queue.MostDue, int16(state))
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	if state == queue.Claimed {
		if err := s.addFailures(op, ids, queue.LeaseEnded); err != nil {
			return 0, err
		}
	}
	return s.each(nil, makeReady, name(op), ids, op.Now, intables.DeadAt(op.Settings))
}

// sweep does a Sweep.
func (s *session) sweep(op *queue.Op) error {
	if _, err := s.makeReady(op); err != nil {
		return err
	}
	if age := op.Settings.Retention.Milliseconds(); age > 0 {
		if err := s.forOld(op, outdated, op.Now-age, s.outdate); err != nil {
			return err
		}
	}
	if age := op.Settings.DeadRetention.Milliseconds(); age > 0 && op.Done < op.Limit {
		return s.forOld(op, outdatedDead, op.Now-age, func(op *queue.Op, id int64, _ int) error {
			op.Done++
			_, err := s.delete(op, deleteID, name(op), id)
			return err
		})
	}
	return nil
}

// forOld calls fn with the jobs that a query finds to be from before a time.
func (s *session) forOld(op *queue.Op, query string, before int64, fn func(*queue.Op, int64, int) error) error {
	type old struct {
		id       int64
		attempts int
	}
	var list []old
	_, err := s.each(func(rows pgx.Rows) error {
		var o old
		err := rows.Scan(&o.id, &o.attempts)
		list = append(list, o)
		return err
	}, query, name(op), before, op.Limit)
	for _, o := range list {
		if err == nil {
			err = fn(op, o.id, o.attempts)
		}
	}
	return err
}

// outdate does what the settings say to a job that is too old.
func (s *session) outdate(op *queue.Op, id int64, attempts int) error {
	op.Done++
	if op.Settings.Outdated == queue.Drop {
		_, err := s.delete(op, deleteID, name(op), id)
		return err
	}
	return s.exec(bury, name(op), id, op.Now, attempts)
}
