package sqlqueue

import (
	"math"

	"github.com/assaydb/assay/stores/queue"
)

// due is when delays and leases of a queue end, as far as this process knows. What other processes
// add it learns by looking now and then.
type due struct {
	at     int64 // no delay or lease that is known ends before; math.MaxInt64 if none is
	looked int64 // when the table was last asked
}

// lookEvery is after how many milliseconds a claim asks the table again.
const lookEvery = 100

func (b *backend) dueOf(name string) *due {
	d, ok := b.dues[name]
	if !ok {
		d = new(due)
		b.dues[name] = d
	}
	return d
}

func (d *due) add(at int64) { d.at = min(d.at, at) }

func (d *due) mustLook(now int64) bool {
	return now >= d.at || now-d.looked >= lookEvery || now < d.looked
}

// next returns what Op.Due wants.
func (d *due) next() int64 {
	if d.at == math.MaxInt64 {
		return 0
	}
	return d.at
}

// makeReady makes ready the jobs whose delay or lease has ended, or dead, and returns how many.
func (b *backend) makeReady(op *queue.Op) (moved int, err error) {
	d := b.dueOf(op.Queue)
	if !d.mustLook(op.Now) {
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
		if moved, err = b.write.makeReady.run(op.Queue, op.Now, deadAt(op.Settings), queue.MostDue); err != nil {
			return moved, err
		}
		if err := look(); err != nil {
			return moved, err
		}
	}
	d.at, d.looked = at, op.Now
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
