package sqlqueue

import (
	"math"

	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
)

// makeReady makes ready the jobs whose delay or lease has ended, or dead, and returns how many.
func (b *backend) makeReady(op *queue.Op) (moved int, err error) {
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

// sweep does a Sweep. Ids grow with the time of publishing, in microseconds.
func (b *backend) sweep(op *queue.Op) error {
	if _, err := b.makeReady(op); err != nil {
		return err
	}
	if age := op.Settings.Retention.Milliseconds(); age > 0 {
		if err := b.forOld(b.write.outdated, op, queue.Ready, op.Now-age, b.outdate); err != nil {
			return err
		}
	}
	if age := op.Settings.DeadRetention.Milliseconds(); age > 0 && op.Done < op.Limit {
		return b.forOld(b.write.outdatedDead, op, queue.Dead, op.Now-age, func(op *queue.Op, p place, _ int) error {
			op.Done++
			return b.drop(op, p)
		})
	}
	return nil
}

// place is where a job is in the table.
type place struct {
	state    queue.State
	rank, at int64
	id       int64
}

// forOld calls fn with the jobs in a state that a query finds to be from before a time.
func (b *backend) forOld(query stmt, op *queue.Op, state queue.State, before int64,
	fn func(*queue.Op, place, int) error) error {
	type old struct {
		place
		attempts int
	}
	var list []old
	err := query.each(func(r row) {
		list = append(list, old{place{state, r.integer(0), r.integer(1), r.integer(2)}, int(r.integer(3))})
	}, op.Queue, before, op.Limit)
	for _, o := range list {
		if err == nil {
			err = fn(op, o.place, o.attempts)
		}
	}
	return err
}

// outdate does what the settings say to a job that is too old.
func (b *backend) outdate(op *queue.Op, p place, attempts int) error {
	op.Done++
	if op.Settings.Outdated == queue.Drop {
		return b.drop(op, p)
	}
	return run(b.write.bury, op.Queue, int64(p.state), p.rank, p.at, p.id, op.Now, attempts)
}

func (b *backend) drop(op *queue.Op, p place) error {
	return run(b.write.drop, op.Queue, int64(p.state), p.rank, p.at, p.id)
}
