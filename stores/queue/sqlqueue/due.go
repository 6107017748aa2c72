package sqlqueue

import (
	"math"

	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
)

// MakeReady implements intables.Tables.
func (b *backend) MakeReady(op *queue.Op) (moved int, err error) {
	d := b.dues.Of(op.Queue)
	if !d.MustLook(op.Now) {
		return 0, nil
	}
	var at, leaseEnd int64
	look := func() error {
		return b.write.nextDue.each(func(r row) {
			leaseEnd = r.timeOr(1, math.MaxInt64)
			at = min(r.timeOr(0, math.MaxInt64), leaseEnd)
		}, op.Queue)
	}
	if err := look(); err != nil {
		return 0, err
	}
	if leaseEnd <= op.Now {
		if err := run(b.write.addEnded, op.Queue, op.Now, nil, queue.MostDue); err != nil {
			return 0, err
		}
	}
	if at <= op.Now {
		moved, err = b.write.makeReady.run(op.Queue, op.Now, intables.DeadAt(op.Settings), queue.MostDue)
		if err != nil {
			return moved, err
		}
		if err := look(); err != nil {
			return moved, err
		}
	}
	d.At, d.Looked = at, op.Now
	return moved, nil
}

// Old implements intables.Tables. Ids grow with the time of publishing, in microseconds.
func (b *backend) Old(op *queue.Op, state queue.State, before int64) (list []intables.Place, err error) {
	place := func(r row) intables.Place {
		return intables.Place{State: state, Rank: r.integer(0), At: r.integer(1), ID: r.integer(2),
			Attempts: int(r.integer(3))}
	}
	if state == queue.Dead {
		l := intables.Looking{Op: op}
		err = b.write.dead.each(func(r row) { l.Take(place(r), r.integer(4) != 0) }, op.Queue, before, queue.MostLooked,
			op.From)
		return l.List, err
	}
	err = b.write.outdated.each(func(r row) { list = append(list, place(r)) }, op.Queue, before, op.Limit)
	return list, err
}

// Bury implements intables.Tables.
func (b *backend) Bury(op *queue.Op, p intables.Place) error {
	return run(b.write.bury, op.Queue, int64(p.State), p.Rank, p.At, p.ID, op.Now, p.Attempts)
}

// Drop implements intables.Tables.
func (b *backend) Drop(op *queue.Op, p intables.Place) error {
	return run(b.write.drop, op.Queue, int64(p.State), p.Rank, p.At, p.ID)
}

// Purge implements intables.Tables.
func (b *backend) Purge(op *queue.Op) (int, error) {
	return b.write.purge.run(op.Queue, int64(op.State), op.Limit)
}
