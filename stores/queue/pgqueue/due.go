package pgqueue

import (
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
)

// MakeReady implements intables.Tables.
func (s *session) MakeReady(op *queue.Op) (moved int, err error) {
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

// Old implements intables.Tables.
func (s *session) Old(op *queue.Op, state queue.State, before int64) (list []intables.Place, err error) {
	var p intables.Place
	if state == queue.Dead {
		l, old := intables.Looking{Op: op}, false
		_, err = s.each(func(rows pgx.Rows) error {
			err := rows.Scan(&p.ID, &p.Attempts, &old)
			l.Take(p, old)
			return err
		}, dead, name(op), before, queue.MostLooked, op.From)
		return l.List, err
	}
	_, err = s.each(func(rows pgx.Rows) error {
		err := rows.Scan(&p.ID, &p.Attempts)
		list = append(list, p)
		return err
	}, outdated, name(op), before, op.Limit)
	return list, err
}

// Bury implements intables.Tables.
func (s *session) Bury(op *queue.Op, p intables.Place) error {
	return s.exec(bury, name(op), p.ID, op.Now, p.Attempts)
}

// Drop implements intables.Tables.
func (s *session) Drop(op *queue.Op, p intables.Place) error {
	_, err := s.delete(op, deleteID, name(op), p.ID)
	return err
}

// DeleteID implements intables.Tables.
func (s *session) DeleteID(op *queue.Op, id uint64) (int, error) {
	return s.delete(op, deleteID, name(op), int64(id))
}

// Purge implements intables.Tables.
func (s *session) Purge(op *queue.Op) (int, error) {
	return s.delete(op, purge, name(op), int16(op.State), op.Limit)
}
